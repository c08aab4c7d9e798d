package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
)

// Successor is a process that took the worker's place. Its exit status counts.
type Successor struct {
	proc.Process
	Sent unix.Signal      // the stop signal that it got, 0 for none
	Exit *unix.WaitStatus // nil while it lives
}

// PromoteLast returns the worker's successor when no process is left, nil for none.
func (l *Ledger) PromoteLast() *Successor {
	return l.promoteSuccessor(true)
}

// mostDeferred bounds the snapshots for which the choice of a successor is put off.
const mostDeferred = 3

// promoteSuccessor makes the successor of a worker the worker, and the successor of that. A shell or a
// launcher that died of drainit's signal says nothing about the work; if exactly one process that came
// from it may be the work, that one's status counts, though it may have ended since. The first snapshot
// after the death decides; now is whether there will be no other.
func (l *Ledger) promoteSuccessor(now bool) (last *Successor) {
	for {
		w := l.worker
		if w == nil || w.succeeded || w.kind == program.Other || !w.diedOfIt() {
			return last
		}
		if !now && l.deferred < mostDeferred && l.anySent(l.isUnreaped) {
			l.deferred++
			return last
		}
		w.succeeded, l.deferred = true, 0
		these := l.candidates()
		if len(these) != 1 {
			return last
		}
		m := these[0]
		l.pid, l.gone = m.PID, m.exit != nil
		l.worker, last = m, &Successor{Process: m.Process, Exit: m.exit}
		if m.sent != nil {
			last.Sent = m.sent.signal
		}
	}
}

// isUnreaped reports whether a process is dead and has still to say how it died: drainit will wait
// for it, if the one above it has not.
func (l *Ledger) isUnreaped(m *record) bool {
	return m.exit == nil && l.living[m.PID] != m && !l.alive(m.parent)
}

// candidates are the possible successors, dead or alive: they came from the worker, belong to no daemon
// of before the stop, and handle the signal. Where none does, a shell or a launcher may have a successor
// in its turn.
func (l *Ledger) candidates() (these []*record) {
	all := l.children()
	for _, m := range l.records {
		if m.exit != nil && m.sent != nil && !m.succeeded {
			all = append(all, m)
		}
	}
	var passing []*record
	for _, m := range all {
		handles := (m.Handles(l.deliver) || m.handled.Has(l.deliver) && !m.execed) && !(m.kind == program.Shell && (!m.Handles(unix.SIGTERM) || program.HandlesWithoutTrap(&m.Process)))
		dying := m.kind == program.Launcher && m.sent != nil
		switch {
		case m.topmost().origin != root, m.sent == nil && l.cleansUp(m), l.shown.HasWriters(m.PID):
		case handles && !dying:
			these = append(these, m)
		case m.kind != program.Other:
			passing = append(passing, m)
		}
	}
	if len(these) == 0 {
		return passing
	}
	return these
}
