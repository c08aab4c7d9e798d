package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// readsPipe reports whether an orphan reads a pipe that a living process writes to. To
// end tee cuts off the application: it ends by itself when its input does.
func (l *Ledger) readsPipe(o *orphan) bool {
	return !o.Handles(l.signalFor(o.record)) && len(o.snapshot.WritersTo(o.PID)) > 0
}

// mayReadPipe reports whether it matters if a process does.
func (l *Ledger) mayReadPipe(p proc.Process) bool {
	if p.PPID != l.self || p.Handles(l.deliver) && p.Handles(unix.SIGTERM) {
		return false
	}
	m := l.records[p.ID]
	return m == nil || m.sent == nil
}

// waitsForWorker is for what was drainit's child before the stop, a daemon that an
// entrypoint started: its turn comes when the worker has gone. A shell with a trap has
// seen to its daemons itself.
func (l *Ledger) waitsForWorker(o *orphan) bool {
	w := l.records[l.worker]
	return o.preexisting && w != nil && (l.alive(w) || w.program == Shell && w.sent != nil && w.sent.handled)
}

// followsAStop is for a child whose parent came and went between two snapshots, or only
// became one after the last. It was started in the course of the stopping if it is younger
// than the delivery to one in its session that handled the signal and has gone since.
func (l *Ledger) followsAStop(o *orphan) bool {
	if o.parent != nil {
		return false
	}
	for _, p := range l.records {
		if p.sent != nil && p.sent.handled && p.SID == o.SID && !l.alive(p) && !p.diedOfIt(l.deliver) && o.bornAfter(p) {
			return true
		}
	}
	return false
}

// notifiedLives: it is still handling the stop.
func (l *Ledger) notifiedLives(o *orphan) bool { return o.notified != nil && l.alive(o.notified) }

// preexistingLives: what is below it has its turn when that has had its own.
func (l *Ledger) preexistingLives(o *orphan) bool {
	return o.notified == nil && o.topmost.preexisting && l.alive(o.topmost)
}

func (l *Ledger) parentDaemonized(o *orphan) bool {
	return l.forks && o.parent.root && o.parent.exited && o.parent.termSignal == 0
}

func (l *Ledger) relaySignalledGroup(o *orphan) bool {
	return o.notified != nil && o.notified.signalsGroup() && o.PGID == o.parent.PGID
}

func (l *Ledger) cleansUp(o *orphan) bool {
	return o.parent.cleanup || o.notified != nil && l.startedBy(o.record, o.notified)
}

func (l *Ledger) parentNotSignalled(o *orphan) bool {
	if o.notified == nil {
		return !o.topmost.preexisting
	}
	return o.notified != o.parent && !o.notified.sent.handled
}

// startedBy reports whether m was started in the course of the stopping: after notified
// was signalled, by a process that handled the signal, or by what such a one has started
// since.
func (l *Ledger) startedBy(m, notified *record) bool {
	if !notified.sent.handled || !m.bornAfter(notified) {
		return false
	}
	for by := range l.upFrom(l.records[m.parent]) {
		if by == notified || !by.bornAfter(notified) { // notified itself, signalled with its group, may be seen later
			return by.handledIt(notified.sent.signal) && !by.diedOfIt(notified.sent.signal)
		}
	}
	return false
}

// alive is exact for drainit's children, which are waited for: one that is dead and not
// waited for yet has still to say how it died. Of the others the last snapshot tells.
func (l *Ledger) alive(m *record) bool {
	return l.living[m.PID] == m || m.last > 0 && m.PPID == l.self && !m.exited
}
