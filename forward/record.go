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
	program     Program
	parent      proc.ID     // the last that was not drainit; zero if none was seen
	first       int         // the snapshot that first showed it
	last        int         // the snapshot that last showed it
	handled     signals.Set // at any snapshot: a handler may be there for one signal only
	root        bool        // it is signalled as the worker is
	preexisting bool        // it was drainit's child before the stop, and no root
	cleanup     bool        // it belongs to the stopping
	leftAlone   bool        // it was decided: signalled by another, or left on purpose
	decided     bool        // it was the worker, and which its successor is has been decided
	sent        *sent
	exited      bool
	termSignal  unix.Signal // that it died of, 0 where it exited
}

// sent is how a process was signalled.
type sent struct {
	signal   unix.Signal
	handled  bool   // that it handled it
	snapshot int    // the one before it
	unseen   bool   // with its group, by all that is known
	tick     uint64 // proc.Ticks
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

// diedOfIt reports whether a stop signal killed a process. A shell that had a trap has run
// it: that it then died by the same signal is good manners.
func (m *record) diedOfIt(passed unix.Signal) bool {
	switch {
	case m.termSignal == 0, m.program == Shell && m.handledIt(passed) && !m.hasExitTrap():
		return false
	case m.sent != nil:
		return m.termSignal == m.sent.signal
	}
	return m.termSignal == passed || m.termSignal == unix.SIGTERM
}

// hasExitTrap reports whether a bash has a trap for EXIT, for which it handles all the
// signals that end a process, and dies of them all the same.
func (m *record) hasExitTrap() bool {
	return m.handled.Has(unix.SIGXCPU) && m.handled.Has(unix.SIGVTALRM)
}

// signalsGroup reports whether a program passes the stop signal on to a whole process
// group by itself: timeout(1), dumb-init, and tini with -g.
func (m *record) signalsGroup() bool {
	switch m.Exe {
	case "timeout", "dumb-init":
		return true
	case "tini", "tini-static":
		return slices.Contains(m.Args, "-g")
	}
	return false
}
