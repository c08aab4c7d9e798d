package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// Successor returns the process that took the worker's place in the last plan, if one
// did: its exit status is the one that counts. It is returned once.
func (l *Ledger) Successor() (p proc.Process, ok bool) {
	if l.successor == nil {
		return p, false
	}
	p = *l.successor
	l.successor = nil
	return p, true
}

// Undecided is a process of which it can't be known whether it was signalled. It is, in the
// last seconds of the grace.
type Undecided struct {
	Process proc.Process
	Parent  proc.Process // that may have signalled it, zero where none was seen
	Waits   bool         // the parent lives: a shell that may wait for it, and has signalled none then
}

// Undecided returns those that the last plan left so. Each is returned once.
func (l *Ledger) Undecided() []Undecided {
	all := l.undecided
	l.undecided = nil
	return all
}

// Waiting is a child of drainit's that was not signalled, and the rule by which, where that is
// not the one of the plan before.
type Waiting struct {
	Process proc.Process
	Rule    string
}

// Waiting returns those of the last plan, each once.
func (l *Ledger) Waiting() []Waiting {
	all := l.waiting
	l.waiting = nil
	return all
}

// ExitOf returns how a child of drainit ended; ok is false if it has not.
func (l *Ledger) ExitOf(id proc.ID) (status unix.WaitStatus, ok bool) {
	if m := l.records[id]; m != nil && m.exited {
		return m.status, true
	}
	return 0, false
}

// promoteSuccessor makes the successor of a worker the worker, and the successor of that.
// A shell or a launcher that died by the very signal that drainit sent it says nothing
// about the work; if exactly one child that came from it handles the signal, that one's
// status does, though it may have ended since. Where none does, a single shell or
// launcher may have a successor in its turn. What reads a pipe that another writes to is
// none. The first snapshot after the death decides.
func (l *Ledger) promoteSuccessor(s *proc.Snapshot) {
	for {
		w := l.records[l.worker]
		if w == nil || w.decided || w.program == Other || w.sent == nil || w.termSignal() != w.sent.signal {
			return
		}
		if s != nil && w.deferred < mostDeferred && l.anyUnreaped() {
			w.deferred++
			return
		}
		w.decided = true
		next := l.successorOf(s)
		if next == nil {
			return
		}
		l.worker = next.ID
		l.successor = &next.Process
	}
}

// mostDeferred bounds the snapshots for which the choice of a successor is put off.
const mostDeferred = 3

// anyUnreaped reports whether one that was signalled is dead and has still to say how it
// died: drainit will wait for it, if the one above it has not.
func (l *Ledger) anyUnreaped() bool {
	for _, m := range l.records {
		if m.sent == nil || m.exited || l.living[m.PID] == m || m.last == 0 {
			continue
		}
		if up := l.records[m.parent]; up == nil || !l.alive(up) {
			return true
		}
	}
	return false
}

// PromoteLast does so where nothing is left.
func (l *Ledger) PromoteLast() {
	if l.begun {
		l.promoteSuccessor(nil)
	}
}

// successorOf is the successor of the worker, nil for none or too many: of drainit's
// children and of those that were signalled with the worker and have ended by now, so that
// it does not depend on which of two ended first.
func (l *Ledger) successorOf(s *proc.Snapshot) *record {
	living := l.children()
	for _, m := range living {
		if m.sent == nil {
			_, _ = l.decide(m, s) // which may find that it is a clean-up, unless it waits for one above it
			o := l.orphanOf(m, s)
			m.cleanup = m.cleanup || o.parent != nil && l.cleansUp(o)
		}
	}
	all := living
	for _, m := range l.records {
		if m.exited && m.sent != nil && !m.decided && l.living[m.PID] != m {
			all = append(all, m)
		}
	}
	return only(l.succeeding(all))
}

// succeeding are those that came from the worker and handle the signal; where none does,
// the shells and launchers.
func (l *Ledger) succeeding(all []*record) (these []*record) {
	var passing []*record
	for _, m := range all {
		switch {
		case !l.topmost(m).root || m.cleanup, m.readsPipe:
		case m.program == Launcher && m.sent != nil: // it is about to die of that
			passing = append(passing, m)
		case m.handled.Has(l.deliver) && !(m.program == Shell && (!m.Handles(unix.SIGTERM) || m.alwaysHandles())):
			these = append(these, m)
		case m.program != Other:
			passing = append(passing, m)
		}
	}
	if len(these) == 0 {
		return passing
	}
	return these
}

func only(these []*record) *record {
	if len(these) != 1 {
		return nil
	}
	return these[0]
}

// topmost is the last known at or above m. If it was drainit's child before the stop,
// what is below it is its own business.
func (l *Ledger) topmost(m *record) (top *record) {
	for top = range l.upFrom(m) {
	}
	return top
}
