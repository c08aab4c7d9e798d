package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// record is what is known of one process, alive or dead.
type record struct {
	proc.Process
	parent     *record // the last that was not drainit; nil if none was seen
	origin     origin
	fate       fate
	kind       program.Kind // when it was last seen
	handled    signals.Set  // at any snapshot: a handler may go when it is used, and an exec takes it, but not what it did
	ignored    signals.Set  // at every snapshot
	sent       *sent        // nil: drainit has not signalled it
	heldSince  uint64       // the tick at which its fate was first held, 0 for never
	restsSince uint64       // the tick of the snapshot since which it has not run
	waitsBy    string       // the rule by which it was not signalled, the last time
	leftTo     leftTo       // the same, where it is another's business
	exit       *unix.WaitStatus
	slept      proc.Call // at first
	lostChild  bool      // since it was signalled
	isParent   bool      // at any snapshot
	execed     bool      // since it was first seen
	reads      bool      // it has read a pipe that another process below drainit wrote to
	readsUntil uint64    // the tick of the last snapshot that showed a writer
	succeeded  bool      // it was the worker, and its successor was looked for

	first, last int32 // the snapshots that showed it, by number; 0 for none
	rested      int32 // the last that showed it untouched
	below       int32 // the last at which one below it had a record
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
	handled  bool   // it handled the signal
	shell    bool   // it was a shell, whatever it has become
	snapshot int32  // the one before it
	tick     uint64 // proc.Ticks
}

func (m *record) markSent(how sent) {
	how.handled, how.shell = m.Handles(how.signal), m.kind == program.Shell
	m.sent = &how
}

// topmost is the last known at or above a process.
func (m *record) topmost() *record {
	for m.parent != nil {
		m = m.parent
	}
	return m
}

// name is for a parent, which may not have been seen.
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

// notified is the nearest process above m that drainit signalled, nil for none.
func (m *record) notified() *record {
	up := m.parent
	for up != nil && up.sent == nil {
		up = up.parent
	}
	return up
}

// bornAfter reports whether m was started after p was signalled. A tick is a hundredth
// of a second, so the snapshots say what one tick can't.
func (m *record) bornAfter(p *record) bool {
	return m.Start >= p.sent.tick && m.first > p.sent.snapshot
}

// mayHaveHandled reports whether a process that was signalled may have had a handler at any time:
// a snapshot has shown one, or none has shown the process. Where that can't be read, its death tells.
func (m *record) mayHaveHandled() bool {
	return m.first == 0 || m.handled.Has(m.sent.signal) && (m.IsTold() || !m.diedOfIt())
}

// passedNothingOn reports whether a process that has gone surely signalled no other: it never had a handler
// for the signal, and died of it. One with a handler may run that and then die of the same signal.
func (m *record) passedNothingOn() bool {
	return m.sent != nil && !m.mayHaveHandled() && (m.exit == nil || m.diedOfIt())
}

// sleptAtItsEnd reports whether a process that reads a pipe has slept since a snapshot that showed a writer: the
// end of the last writer would have woken it if it waited for input.
func (m *record) sleptAtItsEnd() bool {
	return m.Evidence != nil && m.restsSince <= m.readsUntil
}

// fateOfReader is that of a process whose last writer has gone: the next snapshot shows whether it reads.
func (m *record) fateOfReader() fate {
	if m.sleptAtItsEnd() {
		return held
	}
	return cleanup
}

// diedOfIt reports whether a process that was signalled has ended by that signal.
func (m *record) diedOfIt() bool {
	return m.exit != nil && m.exit.Signaled() && m.exit.Signal() == m.sent.signal
}
