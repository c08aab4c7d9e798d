// Package proc reads /proc: which processes exist, which of them is below which, and which signals each
// handles.
//
// It owns all reads of other processes in /proc, and the meaning of their errors. It must never send a
// signal, wait for a child or write a line. It must never wait for long: a read that can hang has another
// thread (Reader).
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

// ID names one process for good. A pid alone does not, because the kernel uses it again.
type ID struct {
	PID   int
	Start uint64 // field 22 of /proc/PID/stat, in clock ticks (1/100 s) after boot
}

// Process has the facts that one snapshot shows of a process. There may be ten thousand of them: the order of
// the fields leaves no gap.
type Process struct {
	ID
	PPID int
	PGID int
	SID  int
	Comm string // at most 15 bytes of anything, set by the process itself

	Handled signals.Set // it has a handler for these; where only its stat was read, of the first 31
	Ignored signals.Set // likewise

	Details
	stackBase uint64 // where its program's stack begins, at random; 0 where that may not be read
	count     int32  // how many threads it has
	State     byte   // R, S, D, T (stopped), t (traced), Z, X…
	unread    bool   // it hangs, so that not even its stat can be read
}

// Details is what Reader.Tree reads beside the stat of a process. The stat alone shows Call.Sleeps.
type Details struct {
	Blocked  signals.Set // by each of its threads, including signals that a thread waits for
	Awaited  signals.Set // of the blocked: it waits for them in sigwait, or reads them from a signalfd
	Pending  signals.Set
	Exe      string   // the file name of its program, "" where that may not be read
	Args     []string // its command line as it shows it, the first page at most
	Call     Call     // the system call in which its main thread sleeps, if it does
	Reads    File     // the pipe at its standard input, unless the root has the same; zero for none
	input    openFile // its standard input
	Evidence []Thread // of the threads that may take a signal, nil unless all sleep with no signal pending
	Switches uint64   // the context switches of all its threads, 0 unless all sleep, or if not all were read

	Input      Input // whether its standard input is its parent's
	NestedInit bool  // the first of a PID namespace below drainit's, which gets only signals that it handles
	Asleep     bool  // all its threads sleep with no signal pending: those that it has sent have arrived
	Untouched  bool  // no signal that would have woken it has come since the snapshot that Tree was given
}

// Input is whether the standard input of a process is the very one that its parent has.
type Input uint8

// What is known about it.
const (
	UnknownInput Input = iota
	ParentsInput
	AnotherInput
	NullInput // another one, /dev/null
)

// Call is the system call in which a thread sleeps. It is zero if the thread does not sleep.
type Call struct {
	Sleeps     bool
	Number     int    // -1 where that is not known
	Descriptor int    // what a read(2) reads from
	Stack      uint64 // its stack pointer, 0 where that is not known
}

// Alive reports whether the process can still run. A process that hangs counts as dead: nothing is known
// of it, not even whether its pid is still the same process.
func (p *Process) Alive() bool {
	return !p.unread && p.State != 'Z' && p.State != 'X' && p.State != 'x'
}

// Stopped reports whether a stop signal has stopped the process, so that it takes only CONT and KILL. A
// process that a debugger holds does not count.
func (p *Process) Stopped() bool { return p.State == 'T' }

// Handles reports whether the process handles a signal: it has a handler, or waits for the signal.
func (p *Process) Handles(sig unix.Signal) bool { return (p.Handled | p.Awaited).Has(sig) }

// WaitsForChild reports whether its one thread sleeps until a child ends, in wait4(2) or waitid(2).
func (p *Process) WaitsForChild() bool {
	waits := p.Call.Number == unix.SYS_WAIT4 || p.Call.Number == unix.SYS_WAITID
	return p.count <= 1 && p.Call.Sleeps && waits
}

// IsForkOf reports whether the process is a fork of parent and has executed no program since. Then its stack
// begins where that of parent does.
func (p *Process) IsForkOf(parent *Process) bool {
	return p.stackBase != 0 && p.stackBase == parent.stackBase
}

// Ignores reports whether the process ignores a signal and does not wait for it.
func (p *Process) Ignores(sig unix.Signal) bool { return (p.Ignored &^ p.Awaited).Has(sig) }

// Words that On returns: the process has a handler, keeps the signal pending, drops it, ends by it, is
// stopped by it, or /proc does not show.
const (
	Handles  = "handles"
	Blocks   = "blocks"
	Ignores  = "ignores"
	Dies     = "dies"
	Stops    = "stops"
	NotKnown = "not known"
)

// On says in a word how the process treats a signal.
func (p *Process) On(sig unix.Signal) string {
	switch {
	case !p.MasksKnown():
		return NotKnown
	case (p.Blocked &^ p.Awaited).Has(sig):
		return Blocks
	case p.Handles(sig):
		return Handles
	case p.Ignores(sig), p.NestedInit, sig == unix.SIGWINCH, sig == unix.SIGCONT:
		return Ignores
	case signals.StopsByDefault(sig):
		return Stops
	}
	return Dies
}

// mayHandle is what a process counts as handling if /proc does not show it: all signals but those that
// would stop it. It has KILL, which no process can handle, so no real set equals it (MasksKnown).
var mayHandle = ^signals.SetOf(unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)

// MasksKnown reports whether /proc shows how the process treats signals.
func (p *Process) MasksKnown() bool { return p.Handled != mayHandle }

// String names the process as every line does: "node[17]".
func (p Process) String() string { return p.Comm + "[" + strconv.Itoa(p.PID) + "]" }

// Tick is the unit of ID.Start, on every architecture (USER_HZ).
const Tick = 10 * time.Millisecond

// Age returns the time since the start of the process, 0 if that is not known or the clock cannot be read.
func (p Process) Age() time.Duration {
	if p.Start == 0 {
		return 0
	}
	return max(0, SinceBoot()-time.Duration(p.Start)*Tick)
}

// Ticks returns the time in the unit of ID.Start, 0 if the clock cannot be read.
func Ticks() uint64 { return uint64(SinceBoot() / Tick) }

// SinceBoot returns the time since boot, 0 if the clock cannot be read.
func SinceBoot() time.Duration {
	var now unix.Timespec // which stays 0 then
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
	return time.Duration(now.Nano())
}
