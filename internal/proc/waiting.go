package proc

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// handles reports whether a process handles a signal, as a first read of its status has
// shown it: a process that is just starting handles nothing yet. It does if it has a
// handler, or if every thread of it blocks the signal and it is not ignored: then one
// waits for it by sigwait(3) or signalfd(2). To tell that from a process that is
// forking takes some reads, a millisecond apart, of which but one may be after until.
func (r *Reader) handles(pid int, s status, sig unix.Signal, until time.Time) (bool, error) {
	// fork(3), posix_spawn(3) and dash's vfork block every signal for as long as
	// they take, which is long on a busy machine. What waits for a signal sleeps by
	// it: two reads that find no switch of context between them saw one and the same
	// sleep. Where the leader is busy, a thread is in sigwait, or there is a signalfd
	// that takes the signal.
	slept := ""
	for read := 1; ; read++ {
		if s.handled.Has(sig) {
			return true, nil
		}
		blocked, sigwait := r.waitsFor(pid, s, sig)
		switch {
		case s.ignored.Has(sig), !blocked:
			return false, nil
		case s.asleep && s.switches == slept, read > 1 && (sigwait || hasSignalfd(pid, sig)):
			return true, nil
		case read > 1 && time.Now().After(until): // one pair there is on the busiest machine
			return false, nil
		}
		slept = s.switches
		time.Sleep(time.Millisecond)
		var err error
		if s, err = readStatus(pid); err != nil {
			return false, err
		}
	}
}

// waitsFor reports whether each thread blocks the signal or sits in sigwait, and
// whether one sits there. One thread may block what another is to be
// interrupted by: the leader of a Go program blocks nearly everything at times.
func (r *Reader) waitsFor(pid int, s status, sig unix.Signal) (blocked, sigwait bool) {
	tasks := procPath(pid, "task")
	sigwait = r.inSigwait(filepath.Join(tasks, strconv.Itoa(pid)), s, sig)
	if !s.blocked.Has(sig) && !sigwait {
		return false, false
	}
	if s.threads == 1 {
		return true, sigwait
	}
	tids, err := readPids(tasks)
	if err != nil {
		return false, false
	}
	for _, tid := range tids {
		dir := filepath.Join(tasks, strconv.Itoa(tid))
		b, err := readSmall(filepath.Join(dir, "status"))
		if err != nil {
			continue // the thread has ended
		}
		thread, err := parseStatus(b)
		if err != nil {
			continue
		}
		waits := r.inSigwait(dir, thread, sig)
		if !thread.blocked.Has(sig) && !waits {
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
func (r *Reader) inSigwait(thread string, s status, sig unix.Signal) bool {
	if !s.asleep {
		return false
	}
	const time64 = 421 // rt_sigtimedwait_time64, which 32-bit architectures have too
	n, set, ok := syscallOf(thread)
	if !ok || n != unix.SYS_RT_SIGTIMEDWAIT && n != time64 {
		return false
	}
	b := r.readWithTimeout([]part{{filepath.Join(thread, "mem"), set}})[0]
	if len(b) < 8 {
		return !signals.StopsByDefault(sig)
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
