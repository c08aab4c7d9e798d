package proc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// Catches reports whether a process catches a signal, as it is now: a process
// that is just starting catches nothing yet. It does if it has a handler, or if
// every thread of it blocks the signal and nobody ignores it: then somebody
// waits for it by sigwait(3) or signalfd(2). To tell that from a process that is
// forking takes some looks, a millisecond apart, of which but one may be after until.
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
	// they take, which is long on a busy machine. Who waits for a signal sleeps by
	// it: two looks that find no switch of context between them saw one and the same
	// sleep. Where the leader is busy, a thread is in sigwait, or there is a signalfd
	// that takes the signal.
	slept := ""
	for look := 1; ; look++ {
		if h.caught.Has(sig) {
			return true, nil
		}
		blocked, sigwait := waitsFor(pid, h, sig)
		switch {
		case h.ignored.Has(sig), !blocked:
			return false, nil
		case h.asleep && h.switches == slept, look > 1 && (sigwait || hasSignalfd(pid, sig)):
			return true, nil
		case look > 1 && time.Now().After(until): // one pair there is on the busiest machine
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

// handlers is what a process does with the signals.
type handlers struct {
	caught  signals.Set // SigCgt
	ignored signals.Set // SigIgn
	blocked signals.Set // SigBlk, of the leader alone
	pending signals.Set // ShdPnd, and SigPnd of the leader
	threads int
	// Of this thread: whether it is in state S, and how often it has gone to sleep.
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

// StopPending reports whether a process was sent a signal that can stop it, and has not
// acted upon it: one that waits for the exec of a child it has forked by vfork(2), say.
func StopPending(pid int) bool {
	h, err := readHandlers(pid)
	return err == nil && h.pending&signals.SetOf(unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU) != 0
}

// waitsFor reports whether each thread blocks the signal or sits in sigwait, and
// whether one sits there. One thread may block what another is to be
// interrupted by: the leader of a Go program blocks nearly everything at times.
func waitsFor(pid int, h handlers, sig unix.Signal) (blocked, sigwait bool) {
	sigwait = h.inSigwait(filepath.Join(procPath(pid, "task"), strconv.Itoa(pid)), sig)
	if !h.blocked.Has(sig) && !sigwait {
		return false, false
	}
	if h.threads == 1 {
		return true, sigwait
	}
	tids, err := readPids(procPath(pid, "task"))
	if err != nil {
		return false, false
	}
	for _, tid := range tids {
		dir := filepath.Join(procPath(pid, "task"), strconv.Itoa(tid))
		b, err := readSmall(filepath.Join(dir, "status"))
		if err != nil {
			continue // the thread has ended
		}
		t, err := parseStatus(b)
		if err != nil {
			continue
		}
		waits := t.inSigwait(dir, sig)
		if !t.blocked.Has(sig) && !waits {
			return false, false
		}
		sigwait = sigwait || waits
	}
	return true, sigwait
}

// inSigwait reports whether a thread is in rt_sigtimedwait(2) for a signal. While it
// is, the kernel takes what it waits for out of SigBlk (kernel/signal.c,
// do_sigtimedwait). For what, its memory tells; where that may not be read (ptrace(2)),
// it waits for all but those that would stop it if it did not. It is asked of no thread
// that does not sleep: in an execve(2) that is stuck the answer would not come
// (fs/proc/base.c, lock_trace).
func (h handlers) inSigwait(thread string, sig unix.Signal) bool {
	if !h.asleep {
		return false
	}
	const time64 = 421 // rt_sigtimedwait_time64, which 32-bit architectures have too
	n, set, ok := syscallOf(thread)
	if !ok || n != unix.SYS_RT_SIGTIMEDWAIT && n != time64 {
		return false
	}
	b := readAside([]part{{filepath.Join(thread, "mem"), set}})[0]
	if len(b) < 8 {
		return sig != unix.SIGTSTP && sig != unix.SIGTTIN && sig != unix.SIGTTOU
	}
	return signals.Set(binary.NativeEndian.Uint64(b)).Has(sig)
}

// hasSignalfd reports whether a process has a signalfd(2) that takes the signal.
func hasSignalfd(pid int, sig unix.Signal) bool {
	dir := procPath(pid, "fdinfo")
	fds, err := readPids(dir)
	if err != nil {
		return false // not permitted
	}
	const atMost = 1000 // descriptors: one of these is opened early
	return slices.ContainsFunc(fds[:min(len(fds), atMost)], func(fd int) bool {
		b, err := readPage(filepath.Join(dir, strconv.Itoa(fd)), 0)
		return err == nil && signalfdMask(b).Has(sig)
	})
}

// signalfdMask is what a descriptor's /proc/PID/fdinfo says that it takes
// (proc(5)): nothing, if it is not of a signalfd.
func signalfdMask(fdinfo []byte) signals.Set {
	_, rest, _ := bytes.Cut(fdinfo, []byte("\nsigmask:"))
	text, _, _ := bytes.Cut(rest, []byte("\n"))
	mask, err := signals.ParseSet(bytes.TrimSpace(text), 16)
	if err != nil {
		return 0
	}
	return mask
}

// syscallOf is the system call that a process or thread sleeps in, and its first
// argument. ok is false where it runs, and where that may not be read.
func syscallOf(dir string) (number int, first int64, ok bool) {
	b, err := readSmall(filepath.Join(dir, "syscall"))
	if err != nil {
		return 0, 0, false // not permitted, or not in this kernel
	}
	fields := strings.Fields(string(b))
	if len(fields) < 2 { // "running"
		return 0, 0, false
	}
	number, err = strconv.Atoi(fields[0])
	first, failed := strconv.ParseInt(fields[1], 0, 64)
	return number, first, err == nil && failed == nil
}

// parseStatus reads the masks in a /proc/PID/status, and what goes with them.
func parseStatus(b []byte) (h handlers, err error) {
	found := 0
	for line := range bytes.Lines(b) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		var to *signals.Set
		switch string(name) {
		case "SigPnd", "ShdPnd":
			pending, err := signals.ParseSet(value, 16)
			if err != nil {
				return h, fmt.Errorf("cannot parse status: %w", err)
			}
			h.pending |= pending
			continue
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
		if *to, err = signals.ParseSet(value, 16); err != nil {
			return h, fmt.Errorf("cannot parse status: %w", err)
		}
		found++
	}
	if found != 3 {
		return h, fmt.Errorf("cannot parse status: %d of 3 signal masks", found)
	}
	return h, nil
}
