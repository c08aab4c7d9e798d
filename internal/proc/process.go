// Package proc reads /proc: which processes there are, which of them is below which,
// and which signals each handles.
//
// It owns the only reads of /proc and what their errors mean. It must never send a signal, wait for a child
// or write a line, and never wait for long: what can hang is read on another thread (Reader).
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

	Handled signals.Set // it has a handler for these; where only its stat was read, of the first 31
	Ignored signals.Set // likewise

	// The fields from here to evidence are known where more than the stat was read (Reader.Tree).
	Blocked  signals.Set // by each of its threads, those included that a thread waits for
	Awaited  signals.Set // of these, those that it waits for in sigwait, or reads from a signalfd
	Pending  signals.Set
	Exe      string   // the file name of its program, "" where that may not be read
	Args     []string // its command line as it shows it, the first page at most
	Call     Call     // the system call in which its main thread sleeps, if it does
	Reads    File     // the pipe that is its standard input, and not that of the root as well; zero for none
	evidence []thread // of the threads that count, nil unless all of them sleep with no signal pending

	stackBase  uint64 // where its program's stack begins, by chance; 0 where that may not be read
	count      int32  // of all its threads
	State      byte   // R, S, D, T (stopped), t (traced), Z, X…
	NestedInit bool   // the first of a PID namespace below drainit's: what it does not handle never reaches it
	Asleep     bool   // all its threads sleep with no signal pending: what it has sent has arrived
	Untouched  bool   // it has received no signal since the snapshot that Tree was given
	unread     bool   // it hangs, so that not even its stat can be read
}

// Call is the system call in which a thread sleeps; the zero Call where it does not.
type Call struct {
	Sleeps bool
	Number int    // -1 where that is not known
	Stack  uint64 // its stack pointer, 0 where that is not known
}

// Alive reports whether the process can still run. Of one that hangs nothing is known, not even
// which process it is: it counts as dead.
func (p *Process) Alive() bool {
	return !p.unread && p.State != 'Z' && p.State != 'X' && p.State != 'x'
}

// Stopped reports whether the process sleeps by a stop signal, so that it sees
// no other signal but CONT and KILL. One held by a debugger is not counted.
func (p *Process) Stopped() bool { return p.State == 'T' }

// Handles reports whether the process acts upon a signal: by a handler, or because it waits for it.
func (p *Process) Handles(sig unix.Signal) bool { return (p.Handled | p.Awaited).Has(sig) }

// Ignores reports whether the process ignores a signal, and does not wait for it either.
func (p *Process) Ignores(sig unix.Signal) bool { return (p.Ignored &^ p.Awaited).Has(sig) }

// Blocks and Dies are what On says of a process that keeps a signal pending, and of one that ends by it.
const Blocks, Dies = "blocks", "dies"

// On is what the process does with a signal, in a word.
func (p *Process) On(sig unix.Signal) string {
	switch {
	case !p.IsTold():
		return "not known"
	case (p.Blocked &^ p.Awaited).Has(sig):
		return Blocks
	case p.Handles(sig):
		return "handles"
	case p.Ignores(sig), p.NestedInit, sig == unix.SIGWINCH, sig == unix.SIGCONT:
		return "ignores"
	case signals.StopsByDefault(sig):
		return "stops"
	}
	return Dies
}

// mayHandle is what a process handles of which that can't be known: all but what would stop it, and so KILL,
// which none can handle.
var mayHandle = ^stopping

// IsTold reports whether /proc tells what the process does with signals.
func (p *Process) IsTold() bool { return p.Handled != mayHandle }

// String is how every line names a process: "node[17]".
func (p Process) String() string { return Label(p.Comm, p.PID) }

// Label is the same for a name and a pid.
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
	var now unix.Timespec // which stays 0 then
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
	return time.Duration(now.Nano())
}
