package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// numbersOf adds up the lines that are numbers of files of a process that are made like its
// status (proc(5)); files is a pattern.
func numbersOf(pid int, files string) map[string]float64 {
	all := make(map[string]float64)
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/%s", pid, files)) // fails for a bad pattern only
	for _, path := range paths {
		text, _ := os.ReadFile(path) // empty if it has gone
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(line, ":")
			var n float64
			_, _ = fmt.Sscan(value, &n) // 0 where it is none
			all[name] += n
		}
	}
	return all
}

// switches is how often the threads of a process were put to sleep.
func switches(pid int) float64 {
	n := numbersOf(pid, "task/*/status")
	return n["voluntary_ctxt_switches"] + n["nonvoluntary_ctxt_switches"]
}
