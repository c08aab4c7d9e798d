// Package proc reads /proc: which processes there are, which of them is below which,
// and which signals each handles.
//
// It owns the only reads of /proc and what their errors mean. It must never send a
// signal, wait for a child or write a line, and never wait for long: what can hang is
// read on another thread (Reader).
package proc

import (
	"errors"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// ErrNoProc says that /proc can't be used: it is not mounted, or it belongs to
// another PID namespace, where every pid in it would mean another process.
var ErrNoProc = errors.New("/proc is not mounted or not of this PID namespace")

// ID names one process for good. A pid alone does not: it is recycled.
type ID struct {
	PID   int
	Start uint64 // field 22 of /proc/PID/stat, in clock ticks (1/100 s) after boot
}

// Process is what one snapshot shows of a process. There may be ten thousand of them: its
// fields stand so that none leaves a gap.
type Process struct {
	ID
	PPID int
	PGID int
	SID  int
	Comm string // at most 15 bytes of anything, set by the process itself

	Handled signals.Set // it has a handler for these, of the first 31 at least
	Ignored signals.Set // of the first 31 at least

	// Of processes that were read closely: what they wait for without a handler is in
	// Handled, too, if it was asked for.
	Pending signals.Set
	Blocked signals.Set   // of those that were asked for: by each of its threads, or one sits in sigwait
	Fatal   signals.Set   // of those that were asked for: it surely dies of them, and at once
	Exe     string        // the file name of what runs it, "" where that may not be read
	Args    []string      // its command line as it shows it, the first page at most
	Around  *Surroundings // nil where none were asked for

	Status     unix.WaitStatus // of a zombie how it ended, 0 where that may not be read
	count      int32           // of all its threads
	threads    threads         // of a leader in state Z
	State      byte            // R, S, D, T (stopped), t (traced), Z, X…
	hangs      bool            // not read closely: such a read would hang
	NestedInit bool            // of a PID namespace below drainit's: what it does not handle never reaches it
}

// Surroundings are where and as which user a process runs, each as far as it was asked for and may
// be read.
type Surroundings struct {
	Env  []string
	Dir  string // its working directory
	User string // its user and group IDs, as its status has them
}

// Surroundings are those of the process, empty where they were not asked for.
func (p *Process) Surroundings() Surroundings {
	if p.Around == nil {
		return Surroundings{}
	}
	return *p.Around
}

// around is where they are kept.
func (p *Process) around() *Surroundings {
	if p.Around == nil {
		p.Around = new(Surroundings)
	}
	return p.Around
}

// threads are those beside a leader in state Z.
type threads struct{ live, stopped bool }

// Alive reports whether the process can still run. A leader in state Z whose
// other threads live is alive: it has not been handed to wait4.
func (p *Process) Alive() bool {
	switch p.State {
	case 'X', 'x':
		return false
	case 'Z':
		return p.threads.live
	}
	return true
}

// Stopped reports whether the process sleeps by a stop signal, so that it sees
// no other signal but CONT and KILL. One held by a debugger is not counted. A leader in
// state Z is stopped if its other threads are.
func (p *Process) Stopped() bool { return p.State == 'T' || p.State == 'Z' && p.threads.stopped }

// StopPending reports whether the process was sent a signal that can stop it, and has not
// acted upon it: one that waits for the exec of a child it has forked by vfork(2), for
// one. It must have been read closely.
func (p *Process) StopPending() bool {
	return p.Pending&signals.SetOf(unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU) != 0
}

// Handles reports whether the process handles a signal. Where it was not read closely,
// false may be wrong.
func (p *Process) Handles(sig unix.Signal) bool { return p.Handled.Has(sig) }

// Ignores reports whether the process ignores a signal.
func (p *Process) Ignores(sig unix.Signal) bool { return p.Ignored.Has(sig) }

// String is how every line names a process: "node[17]".
func (p Process) String() string { return Label(p.Comm, p.PID) }

// Label is the same of a name and a pid.
func Label(comm string, pid int) string { return comm + "[" + strconv.Itoa(pid) + "]" }

// tick is the unit of ID.Start, on every architecture (USER_HZ).
const tick = 10 * time.Millisecond

// Age is how long ago the process started, 0 if that is not known or the clock can't be read.
func (p Process) Age() time.Duration {
	if p.Start == 0 {
		return 0
	}
	return max(0, SinceBoot()-time.Duration(p.Start)*tick)
}

// Ticks is now in the unit of ID.Start, 0 if the clock can't be read.
func Ticks() uint64 { return uint64(SinceBoot() / tick) }

// SinceBoot is the time since boot, 0 if the clock can't be read.
func SinceBoot() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return time.Duration(now.Nano())
}

// IsGone reports whether a read of /proc failed because the process has ended.
func IsGone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH)
}
