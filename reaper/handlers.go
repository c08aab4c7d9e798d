package reaper

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Catches reports whether a process catches a signal, as it is now: a process
// that is just starting catches nothing yet. It does if it has a handler, or if
// every thread of it blocks the signal and nobody ignores it: then somebody
// waits for it by sigwait(3) or signalfd(2). To tell that from a process that is
// forking takes a few looks, a millisecond apart, but none after until.
// The error is ErrNoProc or that of the read.
func Catches(pid int, sig unix.Signal, until time.Time) (bool, error) {
	if err := checkProc(); err != nil {
		return false, err
	}
	h, err := readHandlers(pid)
	if err != nil {
		return false, err
	}
	return h.catches(pid, sig, until)
}

// catches is Catches for what a first look at the handlers has shown.
func (h handlers) catches(pid int, sig unix.Signal, until time.Time) (bool, error) {
	// fork(3), posix_spawn(3) and dash's vfork block every signal for as long as
	// they take. Who waits for a signal sleeps by it: two looks that find no
	// switch of context between them saw one and the same sleep.
	for slept := ""; ; {
		switch {
		case has(h.caught, sig):
			return true, nil
		case has(h.ignored, sig), !waitsFor(pid, h, sig):
			return false, nil
		case h.asleep && h.switches == slept:
			return true, nil
		case time.Now().After(until):
			return false, nil
		}
		slept = h.switches
		time.Sleep(time.Millisecond)
		var err error
		if h, err = readHandlers(pid); err != nil {
			return false, err
		}
	}
}

// handlers is what a process does with each signal, one bit a signal: bit n-1
// is signal n, as in /proc/PID/status (proc(5)).
type handlers struct {
	caught  uint64 // SigCgt
	ignored uint64 // SigIgn
	blocked uint64 // SigBlk, of the leader alone
	threads int
	// Of the leader: whether it is in state S, and how often it has gone to sleep.
	asleep   bool
	switches string
}

func readHandlers(pid int) (handlers, error) {
	b, err := readSmall(procPath(pid, "status"))
	if err != nil {
		return handlers{}, err
	}
	return parseStatus(b)
}

// waitsFor reports whether each thread blocks the signal or sits in sigwait. One
// thread may block what another is to be interrupted by: the leader of a Go
// program blocks nearly everything at times.
func waitsFor(pid int, h handlers, sig unix.Signal) bool {
	leader := filepath.Join(procPath(pid, "task"), strconv.Itoa(pid))
	if !has(h.blocked, sig) && !inSigwait(leader) {
		return false
	}
	if h.threads == 1 {
		return true
	}
	tids, err := readPids(procPath(pid, "task"))
	if err != nil {
		return false
	}
	for _, tid := range tids {
		dir := filepath.Join(procPath(pid, "task"), strconv.Itoa(tid))
		b, err := readSmall(filepath.Join(dir, "status"))
		if err != nil {
			continue // the thread has ended
		}
		if t, err := parseStatus(b); err == nil && !has(t.blocked, sig) && !inSigwait(dir) {
			return false
		}
	}
	return true
}

// inSigwait reports whether a thread is in rt_sigtimedwait(2). While it is, the
// kernel takes what it waits for out of SigBlk (kernel/signal.c,
// do_sigtimedwait), and what that is can't be read.
func inSigwait(thread string) bool {
	const time64 = 421 // rt_sigtimedwait_time64, which 32-bit architectures have too
	n, ok := syscallOf(thread)
	return ok && (n == unix.SYS_RT_SIGTIMEDWAIT || n == time64)
}

// syscallOf is the number of the system call that a process or thread sleeps in.
// ok is false where it runs, and where that may not be read.
func syscallOf(dir string) (number int, ok bool) {
	b, err := readSmall(filepath.Join(dir, "syscall"))
	if err != nil {
		return 0, false // not permitted, or not in this kernel
	}
	text, _, _ := strings.Cut(string(b), " ")
	number, err = strconv.Atoi(text)
	return number, err == nil
}

// parseStatus reads the masks in a /proc/PID/status, and what goes with them.
func parseStatus(b []byte) (h handlers, err error) {
	found := 0
	for line := range bytes.Lines(b) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		var to *uint64
		switch string(name) {
		case "State":
			h.asleep = bytes.HasPrefix(value, []byte("S"))
			continue
		case "Threads":
			if h.threads, err = strconv.Atoi(string(value)); err != nil {
				return h, fmt.Errorf("cannot parse status: %w", err)
			}
			continue
		case "voluntary_ctxt_switches":
			h.switches = string(value)
			continue
		case "SigBlk":
			to = &h.blocked
		case "SigIgn":
			to = &h.ignored
		case "SigCgt":
			to = &h.caught
		default:
			continue
		}
		if *to, err = strconv.ParseUint(string(value), 16, 64); err != nil {
			return h, fmt.Errorf("cannot parse status: %w", err)
		}
		found++
	}
	if found != 3 {
		return h, fmt.Errorf("cannot parse status: %d of 3 signal masks", found)
	}
	return h, nil
}
