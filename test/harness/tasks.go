package harness

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// task is a process as /proc/PID/stat shows it.
type task struct {
	pid, Ppid, Group, session int
	Front                     int // the foreground group of its terminal
	Comm                      string
	State                     byte
}

// TaskOf is the zero task if there is no such process.
func TaskOf(pid int) (p task) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return task{}
	}
	from, to := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	p = task{pid: pid, Comm: string(b[from+1 : to]), State: b[to+2]}
	terminal := 0
	if n, err := fmt.Sscan(string(b[to+3:]), &p.Ppid, &p.Group, &p.session, &terminal, &p.Front); n != 5 {
		panic(err)
	}
	return p
}

// Processes describes what runs, for a test that failed.
func (c *Console) Processes() string {
	var b strings.Builder
	for _, pid := range c.Alive() {
		fmt.Fprintf(&b, "\n%+v state %c", TaskOf(pid), TaskOf(pid).State)
	}
	return b.String()
}

// Above is the drainit that started a worker.
func (c *Console) Above(worker int) int {
	c.T.Helper()
	p := TaskOf(TaskOf(worker).Ppid)
	if !strings.HasPrefix(p.Comm, "drainit") {
		c.T.Fatalf("the worker %d is a child of %+v%s", worker, p, c.Processes())
	}
	return p.pid
}

// WaitUntil waits for something that can only be looked at, and shows the
// terminal where it never comes.
func (c *Console) WaitUntil(what string, ok func() bool) {
	c.T.Helper()
	if !Eventually(ok) {
		c.T.Fatalf("never: %s; shown is\n%s%s", what, c.Shown(), c.Processes())
	}
}

// WaitState waits until a process is in one of some states: "T" is stopped, and
// "RSD" are those of one that is not.
func (c *Console) WaitState(pid int, states string) {
	c.T.Helper()
	c.WaitUntil(fmt.Sprintf("process %d is in one of the states %s", pid, states),
		func() bool { return strings.IndexByte(states, StateOf(pid)) >= 0 })
}

// Send sends a signal to a process, or with -pid to a group.
func (c *Console) Send(pid int, sig syscall.Signal) {
	c.T.Helper()
	Kill(c.T, pid, sig)
}

// WriteLine writes a line to a named pipe that is read.
func WriteLine(t *testing.T, fifo string) {
	t.Helper()
	if err := os.WriteFile(fifo, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
}

// IgnoredBy is the set of signals that a process ignores, bit n-1 for signal n.
func IgnoredBy(t *testing.T, pid int) (set uint64) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^SigIgn:\s+([0-9a-f]+)$`).FindSubmatch(b)
	if set, err = strconv.ParseUint(string(m[1]), 16, 64); err != nil {
		t.Fatal(err)
	}
	return set
}
