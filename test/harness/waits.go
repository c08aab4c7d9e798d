package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Waits describes what the init and all below it wait for, for a test that waited in vain: how
// the init has ended, or of each thread its name, its state and signals, the kernel's function,
// how long it has run and has waited for a processor, and the system call with its arguments
// (proc(5)), each as far as it may be read.
func (p *Init) Waits() string {
	select {
	case <-p.Done:
		return fmt.Sprintf("the init has ended: wait status %#x", uint32(p.Status))
	case <-time.After(100 * time.Millisecond): // it may be about to
	}
	var b strings.Builder
	var tasks []string
	for _, pid := range p.Below() {
		these, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid)) // fails for a bad pattern only
		tasks = append(tasks, these...)
	}
	for _, task := range tasks {
		fmt.Fprintf(&b, "%s:", task)
		for _, file := range []string{"comm", "status", "wchan", "schedstat"} {
			fmt.Fprintf(&b, " %s", waitPart(task, file))
		}
		fmt.Fprintf(&b, "\n")
	}
	return b.String() + systemCalls(tasks)
}

// systemCalls is apart from what else there is, for the kernel may not answer: it waits for a
// thread that is in the middle of an exec.
func systemCalls(tasks []string) string {
	said := make(chan string, len(tasks))
	go func() {
		defer close(said)
		for _, task := range tasks {
			said <- fmt.Sprintf("%s in %s\n", task, waitPart(task, "syscall"))
		}
	}()
	deadline := time.After(time.Second)
	for all := ""; ; {
		select {
		case line, more := <-said:
			if !more {
				return all
			}
			all += line
		case <-deadline:
			return all + "the kernel does not answer for the next"
		}
	}
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
