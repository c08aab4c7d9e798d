package proc

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// blocked is how a process takes a signal that it neither handles nor ignores.
type blocked struct {
	byAll   bool // each thread blocks it, or sits in sigwait for it
	sigwait bool // a thread does
	awake   int  // a thread that runs, and may just have come out of sigwait; 0 for none
	fatal   bool // it surely dies of it
}

// blocks asks each thread whether it blocks the signal or sits in sigwait. One thread may
// block what another is to be interrupted by: the leader of a Go program blocks nearly
// everything at times. Where the leader does not, it is the leader that gets the signal
// (kernel/signal.c, complete_signal). One that a signal has just woken from sigwait has
// still to run before SigBlk is what it was.
func (g *reading) blocks(pid int, s status, sig unix.Signal) (b blocked) {
	waits, known := g.inSigwait(pid, pid, s, sig)
	b.sigwait = waits
	if !s.blocked.Has(sig) && !waits {
		b.fatal = known && s.asleep && !s.traced && !s.nested && signals.TerminatesByDefault(sig)
		if !s.asleep {
			b.awake = pid
		}
		return b
	}
	if s.threads == 1 {
		b.byAll = true
		return b
	}
	tids, err := readPids(procPath(pid, "task"))
	if err != nil {
		return b
	}
	for _, tid := range tids {
		thread, err := readThread(pid, tid)
		if err != nil {
			continue // it has ended
		}
		waits, _ := g.inSigwait(pid, tid, thread, sig)
		if !thread.blocked.Has(sig) && !waits {
			if !thread.asleep {
				b.awake = tid
			}
			return b
		}
		b.sigwait = b.sigwait || waits
	}
	b.byAll = true
	return b
}

// inSigwait reports whether a thread is in rt_sigtimedwait(2) for a signal. While it
// is, the kernel takes what it waits for out of SigBlk (kernel/signal.c,
// do_sigtimedwait). For what, its memory tells; where that may not be read (ptrace(2)),
// it waits for all but those that would stop it if it did not. known is false where it
// can't be known. It is asked of no thread that does not sleep: in an execve(2) that is
// stuck the answer would not come (fs/proc/base.c, lock_trace).
func (g *reading) inSigwait(pid, tid int, s status, sig unix.Signal) (waits, known bool) {
	if !s.asleep {
		return false, false
	}
	const time64 = 421 // rt_sigtimedwait_time64, which 32-bit architectures have too
	call, readable := syscallOf(pid, tid)
	if !readable || !call.sleeps || call.number != unix.SYS_RT_SIGTIMEDWAIT && call.number != time64 {
		return false, readable && call.sleeps
	}
	b, err := readPart(pid, threadFile(pid, tid, "mem"), call.first, 8)
	if err != nil || len(b) < 8 {
		return !signals.StopsByDefault(sig), false
	}
	return signals.Set(binary.NativeEndian.Uint64(b)).Has(sig), true
}

// hasSignalfd reports whether a process has a signalfd(2) that takes the signal; where
// that may not be read, it may have one.
func hasSignalfd(pid int, sig unix.Signal) (has, readable bool) {
	const atMost = 1000                // descriptors: one of these is opened early
	err := asOwner(pid, func() error { // all with one change of user
		fds, err := readPids(procPath(pid, "fdinfo"))
		for _, fd := range fds[:min(len(fds), atMost)] {
			b, failed := readSmall(procPath(pid, "fdinfo/"+strconv.Itoa(fd)))
			if isNotPermitted(failed) {
				return failed
			}
			if has = failed == nil && signalfdMask(b).Has(sig); has {
				return nil
			}
		}
		return err
	})
	return has, err == nil
}

// signalfdMask is what a descriptor's /proc/PID/fdinfo says that it takes
// (proc(5)): nothing, if it is not of a signalfd.
func signalfdMask(fdinfo []byte) signals.Set {
	_, rest, _ := bytes.Cut(fdinfo, []byte("\nsigmask:"))
	text, _, _ := bytes.Cut(rest, []byte("\n"))
	mask, err := signals.ParseSet(bytes.TrimSpace(text))
	if err != nil {
		return 0
	}
	return mask
}

// sysCall is what a thread sleeps in.
type sysCall struct {
	sleeps bool // it does not run
	number int
	first  int64 // argument
	stack  uint64
}

// syscallOf reads what a thread of a process sleeps in.
func syscallOf(pid, tid int) (call sysCall, readable bool) {
	b, err := readOwned(pid, threadFile(pid, tid, "syscall"))
	if err != nil {
		return call, false // not permitted, or not in this kernel
	}
	fields := strings.Fields(string(b))
	if len(fields) < 2 { // "running"
		return call, true
	}
	call.number, err = strconv.Atoi(fields[0])
	first, failed := strconv.ParseInt(fields[1], 0, 64)
	call.first, call.sleeps = first, err == nil && failed == nil
	if n := len(fields); n > 2 { // the last two are the stack pointer and where the program is
		call.stack, _ = strconv.ParseUint(fields[n-2], 0, 64)
	}
	return call, true
}
