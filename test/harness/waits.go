package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Waits describes what each thread of the init and of all below it waits for, for a test that
// waited in vain: its state, the kernel's function, and the system call with its arguments
// (proc(5)), each as far as it may be read.
func (p *Init) Waits() string {
	var b strings.Builder
	for _, pid := range p.Below() {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid)) // fails for a bad pattern only
		fmt.Fprintf(&b, "\nprocess %d", pid)
		for _, task := range tasks {
			fmt.Fprintf(&b, "\n  %s", filepath.Base(task))
			for _, file := range []string{"comm", "status", "wchan", "syscall"} {
				fmt.Fprintf(&b, " %s", waitPart(task, file))
			}
		}
	}
	return b.String()
}

// waitPart is a file of a thread on one line: of its status the state and the signals.
func waitPart(task, file string) string {
	text, err := os.ReadFile(filepath.Join(task, file))
	if err != nil {
		return "-"
	}
	var kept []string
	for line := range strings.Lines(string(text)) {
		if file != "status" || strings.HasPrefix(line, "State:") || strings.HasPrefix(line, "Sig") || strings.HasPrefix(line, "ShdPnd:") {
			kept = append(kept, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(kept, " ")
}
