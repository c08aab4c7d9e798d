package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// children is how many children a process has, living and dead.
func children(pid int) int { return len(strings.Fields(ofThreads(pid, "children"))) }

// cpuTime is how long the threads of a process have run
// (Documentation/scheduler/sched-stats.rst).
func cpuTime(pid int) (sum time.Duration) {
	for line := range strings.Lines(ofThreads(pid, "schedstat")) {
		var ran time.Duration
		_, _ = fmt.Sscan(line, &ran) // the first number
		sum += ran
	}
	return sum
}

// switches is how often the threads of a process were put to sleep.
func switches(pid int) int {
	status := parseStatus(ofThreads(pid, "status"))
	return int(status["voluntary_ctxt_switches"] + status["nonvoluntary_ctxt_switches"])
}

// ofThreads is a file of each thread of a process, one after the other.
func ofThreads(pid int, name string) (all string) {
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/%s", pid, name)) // fails for a bad pattern only
	for _, path := range paths {
		b, _ := os.ReadFile(path) // empty if it has gone
		all += string(b)
	}
	return all
}

// readStatus reads a file of a process that is made like its status.
func readStatus(pid int, name string) map[string]float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name)) // empty if it has gone
	return parseStatus(string(b))
}

// parseStatus adds up the lines of status files that are numbers (proc(5)).
func parseStatus(text string) map[string]float64 {
	all := make(map[string]float64)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		var n float64
		_, _ = fmt.Sscan(value, &n) // 0 where it is none
		all[name] += n
	}
	return all
}
