package test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// task is a process as /proc/PID/stat shows it.
type task struct {
	pid, ppid, group, session int
	front                     int // the foreground group of its terminal
	comm                      string
	state                     byte
}

// taskOf is the zero task if there is no such process.
func taskOf(pid int) (p task) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return task{}
	}
	from, to := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	p = task{pid: pid, comm: string(b[from+1 : to]), state: b[to+2]}
	terminal := 0
	if n, err := fmt.Sscan(string(b[to+3:]), &p.ppid, &p.group, &p.session, &terminal, &p.front); n != 5 {
		panic(err)
	}
	return p
}

// processes describes what runs, for a test that failed.
func (c *console) processes() string {
	var b strings.Builder
	for _, pid := range c.alive() {
		fmt.Fprintf(&b, "\n%+v state %c", taskOf(pid), taskOf(pid).state)
	}
	return b.String()
}

// above is the drainit that started a worker.
func (c *console) above(worker int) int {
	c.t.Helper()
	p := taskOf(taskOf(worker).ppid)
	if !strings.HasPrefix(p.comm, "drainit") {
		c.t.Fatalf("the worker %d is a child of %+v%s", worker, p, c.processes())
	}
	return p.pid
}

// waitUntil waits for something that can only be looked at, and shows the
// terminal where it never comes.
func (c *console) waitUntil(what string, ok func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("never: %s; shown is\n%s%s", what, c.shown(), c.processes())
		}
	}
}

// waitState waits until a process is in one of some states: "T" is stopped, and
// "RSD" are those of one that is not.
func (c *console) waitState(pid int, states string) {
	c.t.Helper()
	c.waitUntil(fmt.Sprintf("process %d is in one of the states %s", pid, states),
		func() bool { return strings.IndexByte(states, stateOf(pid)) >= 0 })
}

// send sends a signal to a process, or with -pid to a group.
func (c *console) send(pid int, sig syscall.Signal) {
	c.t.Helper()
	if err := unix.Kill(pid, sig); err != nil {
		c.t.Fatalf("cannot send %v to %d: %v", sig, pid, err)
	}
}

// writeLine writes a line to a named pipe that is read.
func writeLine(t *testing.T, fifo string) {
	t.Helper()
	if err := os.WriteFile(fifo, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
}

// ignoredBy is the set of signals that a process ignores, bit n-1 for signal n.
func ignoredBy(t *testing.T, pid int) (set uint64) {
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
