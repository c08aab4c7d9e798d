package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// readsPipe reports whether an orphan reads a pipe that a living process writes to. To
// end it cuts off the application, whatever it handles: it ends by itself when its input
// does.
func (l *Ledger) readsPipe(o *orphan) bool { return o.snapshot.HasWriters(o.PID) }

// waitsForWorker is for what was drainit's child before the stop, a daemon that an
// entrypoint started: its turn comes when the worker has gone.
func (l *Ledger) waitsForWorker(o *orphan) bool {
	w := l.records[l.worker]
	return o.preexisting && w != nil && l.alive(w)
}

// helperLives is for an orphan that is untouched, while a process lives that its parent
// started in the course of the stopping: that may be there to signal it.
func (l *Ledger) helperLives(o *orphan) bool {
	if o.notified == nil || !o.snapshot.Untouched(o.ID) {
		return false
	}
	for _, m := range l.living {
		siblings := m.parent == o.record.parent || m.parent == proc.ID{} && m.SID == o.SID
		if m.ID != o.ID && m.sent == nil && siblings && m.bornAfter(o.notified) {
			return true
		}
	}
	return false
}

// notifiedRuns is for an orphan that is untouched, while the one above it that was
// signalled runs, for a second at most: it may be signalling one process after the other,
// as tree-kill does. Once it sleeps, it has done so or does not.
func (l *Ledger) notifiedRuns(o *orphan) bool {
	if o.notified == nil || !l.alive(o.notified) || o.snapshot.Asleep(o.notified.PID) || !o.snapshot.Untouched(o.ID) {
		return false
	}
	if o.heldSince == 0 {
		o.heldSince = l.now
	}
	return l.now < o.heldSince+aSecond
}

// seenToByShell is for the same below a shell that had a trap: it has seen to its daemons
// itself.
func (l *Ledger) seenToByShell(o *orphan) bool {
	w := l.records[l.worker]
	return o.preexisting && w != nil && w.program == Shell && w.sent != nil && w.sent.handled
}

// startedByShell reports whether a shell put an orphan into the background and became the
// program that its parent was: "server & exec worker". A shell without job control has
// those ignore INT and QUIT (POSIX, Asynchronous Lists), which the worker does not.
func (l *Ledger) startedByShell(o *orphan) bool {
	background := func(p proc.Process) bool {
		return p.Ignores(unix.SIGQUIT) && (p.Ignores(unix.SIGINT) || p.Handles(unix.SIGINT))
	}
	return o.parent.root && o.parent.program == Other && background(o.Process) && !background(o.parent.Process)
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

// followsADeath is for such a child while one in its session is dead and has not been
// waited for: how that died is known in a moment, and says what this one is.
func (l *Ledger) followsADeath(o *orphan) bool {
	if o.parent != nil {
		return false
	}
	for _, p := range l.records {
		if p.sent != nil && p.SID == o.SID && l.living[p.PID] != p && l.alive(p) {
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
	return l.forks && o.parent.root && o.parent.exited && o.parent.termSignal() == 0
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
