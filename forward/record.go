package forward

import (
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// record is what is known of one process, alive or dead.
type record struct {
	proc.Process
	parent    proc.ID     // the last that was not drainit; zero if none was seen
	origin    origin      // where it stood when the stop began
	fate      fate        // what was decided about it
	program   Program     // when it was last seen
	handled   signals.Set // at any snapshot: a handler may be there for one signal only
	sent      *sent       // nil: drainit has not signalled it
	heldSince uint64      // the tick at which it was first kept from being signalled, 0 for never
	waitsBy   string      // the rule by which it was not signalled, the last time
	exit      *unix.WaitStatus
	lostChild bool // since it was signalled
	succeeded bool // it was the worker, and its successor was looked for

	// Snapshots, by number.
	first  int32 // that first showed it
	last   int32 // that last showed it
	needed int32 // the last in which a decision could depend on it
}

// origin is where a process stood when the stop began.
type origin uint8

const (
	belowWorker origin = iota // below the worker, or it came later
	root                      // it is signalled as the worker is
	beforeStop                // drainit's child, and no root
)

// fate is what was decided about a process that drainit has not signalled.
type fate uint8

const (
	open      fate = iota
	undecided      // another may have signalled it
	cleanup        // it belongs to the stopping
)

// termSignal is what a process died of, 0 where it exited or lives.
func (m *record) termSignal() unix.Signal {
	if m.exit == nil || !m.exit.Signaled() {
		return 0
	}
	return m.exit.Signal()
}

// sent is how a process was signalled.
type sent struct {
	signal   unix.Signal
	handled  bool   // it handled the signal
	snapshot int32  // the one before it
	unseen   bool   // with its group, by all that is known
	tick     uint64 // proc.Ticks
}

// sortByPID sorts records.
func sortByPID(all []*record) {
	slices.SortFunc(all, func(a, b *record) int { return a.PID - b.PID })
}

// markSent notes how a process was signalled.
func (m *record) markSent(how sent) {
	how.handled = m.Handles(how.signal)
	m.sent = &how
}

// bornAfter reports whether m was started after p was signalled. A tick is a hundredth
// of a second, so the snapshots say what one tick can't.
func (m *record) bornAfter(p *record) bool {
	return m.Start >= p.sent.tick && m.first > p.sent.snapshot
}

// handledIt reports whether a process handled what it was sent, or what another will have
// passed it.
func (m *record) handledIt(passed unix.Signal) bool {
	if m.sent != nil {
		return m.sent.handled
	}
	return m.handled.Has(passed)
}

// mayHaveHandled reports whether a process that was signalled may have had a handler at any time:
// a snapshot has shown one, or none has shown the process.
func (m *record) mayHaveHandled() bool { return m.first == 0 || m.handled.Has(m.sent.signal) }

// passedNothingOn reports whether a process that has gone surely signalled no other: it never
// had a handler for what drainit sent it, and died of that. One that had a handler may have
// run it and then died of the same signal, as good manners ask.
func (m *record) passedNothingOn() bool {
	return m.sent != nil && !m.mayHaveHandled() && (m.exit == nil || m.termSignal() == m.sent.signal)
}

// alwaysHandles reports whether a process is a shell that has a handler for TERM without
// any trap, and acts upon it after its child has ended only.
func (m *record) alwaysHandles() bool {
	return m.program == Shell && slices.Contains(shellsWithHandlers, shellName(&m.Process))
}

// isDying reports whether a signal has ended a process that has not got to it yet: then
// the kernel has added SIGKILL to what is pending (kernel/signal.c, complete_signal).
func (m *record) isDying() bool { return m.Pending.Has(unix.SIGKILL) }

// actsUpon reports whether a process that is sent a signal ends its work by it.
func (m *record) actsUpon(sig unix.Signal) bool {
	return m.Handles(sig) && !m.alwaysHandles() && deafAtOnce(&m.Process, sig) == ""
}
