package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
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

// marked reports whether a process bears the mark of a command in the background: a shell without
// job control has it ignore INT and QUIT (POSIX, Asynchronous Lists). It may have got a handler
// for INT since.
func marked(p *proc.Process) bool {
	return p.Ignores(unix.SIGQUIT) && (p.Ignores(unix.SIGINT) || p.Handles(unix.SIGINT))
}

// inBackground reports whether a child is seen to be in the background of its shell. That of a
// shell which ignores both itself, as bash always ignores QUIT, shows nothing.
func inBackground(child, shell *proc.Process) bool {
	return marked(child) && !(shell.Ignores(unix.SIGINT) && shell.Ignores(unix.SIGQUIT))
}

// startedByShell reports whether a shell put an orphan into the background and became the
// program that its parent was: "server & exec worker". So it was not the parent's to stop.
func (l *Ledger) startedByShell(o *orphan) bool {
	return o.parent != nil && o.parent.root && o.parent.program == Other && marked(&o.Process) && !marked(&o.parent.Process)
}

// notifiedLives: it is still handling the stop.
func (l *Ledger) notifiedLives(o *orphan) bool { return o.notified != nil && l.alive(o.notified) }

// preexistingLives: what is below it has its turn when that has had its own.
func (l *Ledger) preexistingLives(o *orphan) bool {
	return o.notified == nil && o.topmost != nil && o.topmost.preexisting && l.alive(o.topmost)
}

// cleansUp is for what a process that handled the signal has started since: that is a part
// of the stopping. Of a child whose parent came and went between two snapshots, or only became
// one after the last, it counts who was signalled in its session.
func (l *Ledger) cleansUp(o *orphan) bool {
	if o.parent == nil {
		return l.anySent(func(p *record) bool { return p.sent.handled && p.SID == o.SID && o.bornAfter(p) })
	}
	return o.parent.cleanup || o.notified != nil && l.startedBy(o.record, o.notified)
}

// workerEndedBefore is for what a worker leaves that could not be signalled, for it had just
// ended: as where the worker exits by itself, it is signalled.
func (l *Ledger) workerEndedBefore(o *orphan) bool {
	return o.notified == nil && o.topmost != nil && o.topmost.root
}

// noneCouldPassItOn is for a child of which no parent was seen: one that was signalled may have
// been above it.
func (l *Ledger) noneCouldPassItOn(o *orphan) bool {
	return o.parent == nil && !l.anySent((*record).mayHaveHandled)
}

// survives reports whether a process would live on with what another can have sent it. One that
// blocks the signal may have taken it in sigwait, and be busy with it now.
func (l *Ledger) survives(m *record, passed unix.Signal) bool {
	sent := signals.SetOf(passed, l.signalFor(m))
	return m.NestedInit || (m.handled|m.Ignored|m.Blocked|m.Pending)&sent != 0
}

// unsignalled are those of which it is certain that no process has signalled them: they are
// untouched, or live though they would have died of it.
func (l *Ledger) unsignalled(all []*proc.Process, s *proc.Snapshot) (these []*proc.Process) {
	for _, p := range all {
		if m := l.living[p.PID]; s.Untouched(p.ID) || m != nil && !l.survives(m, l.deliver) {
			these = append(these, p)
		}
	}
	return these
}

// anySent reports whether something is true of one that was signalled.
func (l *Ledger) anySent(is func(*record) bool) bool {
	for _, p := range l.records {
		if p.sent != nil && is(p) {
			return true
		}
	}
	return false
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
			return by.handledIt(notified.sent.signal)
		}
	}
	return false
}

// alive is exact for drainit's children, which are waited for: one that is dead and not
// waited for yet has still to say how it died. Of the others the last snapshot tells.
func (l *Ledger) alive(m *record) bool {
	return l.living[m.PID] == m || m.last > 0 && m.PPID == l.self && !m.exited
}
