package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
)

// record is what is known of one process, alive or dead.
type record struct {
	proc.Process
	evidence
	verdict           // the last one, if drainit has not signalled it
	parent    *record // the first parent that was not drainit, nil if none was seen
	origin    origin
	kind      program.Kind     // of its program when it was last seen
	sent      *sent            // nil if drainit has not signalled it
	exit      *unix.WaitStatus // nil if it lives, or drainit has not waited for it
	succeeded bool             // it was the worker, and its successor was looked for
	explained bool             // a line says why it was not signalled
	wentOn    bool             // it is a shell that INT has not ended, and that is sent TERM
}

// origin is where a process stood when the stop began.
type origin uint8

const (
	belowWorker origin = iota // below the worker, or it came later
	root                      // it is signalled as the worker is
	beforeStop                // drainit's child, and no root
)

// sent is how a process was signalled.
type sent struct {
	signal   unix.Signal
	handled  bool   // it handled the signal, or has taken it since
	blocked  bool   // it blocked the signal
	shell    bool   // it was a shell, whatever it has become
	late     bool   // in the last or the final call
	refused  bool   // it was not permitted
	snapshot int32  // the number of the last one before the signal
	tick     uint64 // the time by proc.Ticks, from before the signal
}

func (m *record) markSent(how sent) {
	how.handled, how.blocked = m.Handles(how.signal), m.Blocked.Has(how.signal)
	how.shell = m.kind == program.Shell
	m.sent = &how
}

// is reports whether a process of the last snapshot is this one.
func (m *record) is(p *proc.Process) bool { return p.PID == m.PID }

// topmost returns the last known process at or above m.
func (m *record) topmost() *record {
	for m.parent != nil {
		m = m.parent
	}
	return m
}

// name returns what a reason calls a process. A parent that was not seen is nil.
func (m *record) name() string {
	if m == nil {
		return "its parent"
	}
	return m.String()
}

// isBelow reports whether a process is at or below another.
func (m *record) isBelow(up *record) bool {
	for ; m != nil; m = m.parent {
		if m == up {
			return true
		}
	}
	return false
}

// nearestSignalled returns the nearest process above m that drainit signalled, nil for none.
func (m *record) nearestSignalled() *record {
	up := m.parent
	for up != nil && up.sent == nil {
		up = up.parent
	}
	return up
}

// bornAfter reports whether m was started after p was signalled. A tick is a hundredth of a second, so the
// snapshots say what the start time can't: m was in none before.
func (m *record) bornAfter(p *record) bool {
	return m.Start >= p.sent.tick && m.first > p.sent.snapshot
}
