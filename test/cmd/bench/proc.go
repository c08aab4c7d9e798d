package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// children is how many children a process has, living and dead.
func children(pid int) int {
	n := 0
	for _, b := range ofThreads(pid, "children") {
		n += len(strings.Fields(b))
	}
	return n
}

// cpuTime is how long the threads of a process have run
// (Documentation/scheduler/sched-stats.rst).
func cpuTime(pid int) time.Duration {
	var sum time.Duration
	for _, b := range ofThreads(pid, "schedstat") {
		ns, _ := strconv.ParseInt(strings.Fields(b)[0], 10, 64)
		sum += time.Duration(ns)
	}
	return sum
}

// switches is how often the threads of a process were put to sleep.
func switches(pid int) int {
	n := 0
	for _, b := range ofThreads(pid, "status") {
		status := parseStatus(b)
		n += status["voluntary_ctxt_switches"] + status["nonvoluntary_ctxt_switches"]
	}
	return n
}

// ofThreads reads a file of each thread of a process.
func ofThreads(pid int, name string) []string {
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/%s", pid, name))
	var all []string
	for _, path := range paths {
		if b, err := os.ReadFile(path); err == nil {
			all = append(all, string(b))
		}
	}
	return all
}

// readStatus reads a file of a process that is made like its status.
func readStatus(pid int, name string) map[string]int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		return nil
	}
	return parseStatus(string(b))
}

// parseStatus reads the lines of a status file that are numbers (proc(5)).
func parseStatus(text string) map[string]int {
	all := make(map[string]int)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		if f := strings.Fields(value); len(f) > 0 {
			if n, err := strconv.Atoi(f[0]); err == nil {
				all[name] = n
			}
		}
	}
	return all
}
