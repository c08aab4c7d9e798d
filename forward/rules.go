package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// fate is what is decided about a process that drainit has not signalled.
type fate uint8

const (
	open      fate = iota // the next snapshot decides anew
	held                  // the same, for a second at most
	due                   // it is sent the stop signal now
	undecided             // left alone until the last call, with a line: it may have been signalled
	cleanup               // left alone until the last call: it belongs to the stopping
)

// isLeft reports whether it is left alone, which is final: a handler that goes when it was used
// is no sign later.
func (f fate) isLeft() bool { return f == undecided || f == cleanup }

// decide goes through the rules for a child of drainit that was not signalled: the first that fits
// decides, and says why. The ninth is the last call (lastcall.go). A process that runs after it was
// signalled may be signalling one after the other, as tree-kill does; once it sleeps, it is not.
//
// A reader of a pipe ends by itself when its input does: to end it before cuts off the application. A
// daemon that was there before the stop outlives the work; a shell with a trap has seen to its daemons.
func (l *Ledger) decide(m *record) (fate, string) {
	notified, top, untouched := m.notified(), m.topmost(), m.Untouched && m.On(l.signalFor(m)) != proc.Ignores // which nothing wakes
	switch {
	case m.fate.isLeft(): // rule 1: there is nothing to decide
		return m.fate, "it was left alone"
	case m.Pending.Has(unix.SIGKILL): // a signal has ended it (kernel/signal.c, complete_signal)
		return open, "it is dying"
	case l.shown.HasWriters(m.PID): // rule 2: another has its turn first, or may be signalling it
		return open, "" // leftTo says it, as in rule 4
	case m.origin == beforeStop && l.workLives():
		return open, "waits until the worker has gone"
	case l.onlyServes(m) && (l.draining > 1 || l.draining == 1 && !l.drains(m)):
		return open, "waits for the processes that handle the signal: it would only die of it"
	case untouched && l.helperLives(m, notified):
		return open, "its parent left a helper that may signal it"
	case untouched && l.alive(notified) && !(l.living[notified.PID] == notified && notified.Asleep) && (m.heldSince == 0 || l.now < m.heldSince+aSecond):
		return held, "the signalled process above it is still running"
	case untouched: // rule 3: no process has signalled it since the stop began
		return due, "untouched since before the stop"
	case l.alive(notified): // rule 4: one above it has still to act, or to say how it died
		return open, "" // leftTo says it
	case notified == nil && top != m && top.origin == beforeStop && l.alive(top):
		return open, "a process that was there before the stop lives above it"
	case m.reads: // also rule 6: the end of its input ends it
		return m.fateOfReader(), "it has read a pipe of a process that has gone"
	case m.origin == beforeStop && l.worker.hasTrap(): // rule 5: its turn comes after the worker
		return open, "it was there before the stop, and its shell has seen to it"
	case m.origin == beforeStop:
		return due, "it was there before the stop, and the worker has gone"
	case l.cleansUp(m): // rule 6: a process that handled the signal has started it since
		return cleanup, "it cleans up"
	case l.mayBeStopping(m):
		return held, m.parent.String() + ", which has gone, may have asked it to stop by other means"
	}
	why := l.whyCertain(m)
	if why == "" { // rule 7: it is not certain that no process has signalled it
		return undecided, "may have been signalled by " + m.parent.name() + ", which has gone"
	}
	return due, why // rule 8: all others
}

// whyCertain returns why no living or dead process can have signalled an orphan; "" where one may
// have done so. Where no parent was seen, one that was signalled may have been above it.
func (l *Ledger) whyCertain(m *record) string {
	parent, notified, passed := m.parent, m.notified(), l.deliver
	if notified != nil {
		passed = notified.sent.signal
	}
	switch {
	case !l.survives(m, passed):
		return "it has no " + signals.Name(passed) + " handler and still lives, so no process has sent it that"
	case l.groupMayHave(m):
		return ""
	case parent == nil && !l.forgot && !l.anySent((*record).mayHaveHandled):
		return "its parent is not known, and no process that was signalled had a handler"
	case parent == nil:
		return ""
	case notified == nil && parent.topmost().origin == root:
		return "the worker above it had ended before it was signalled"
	case parent.origin == root && parent.sent != nil && !parent.sent.shell && l.startedBy(m, parent) && program.InBackground(&m.Process, &parent.Process):
		return "a shell started it beside " + parent.String() + ", which has gone" // server & exec worker: a guess
	case parent.passedNothingOn():
		return "its parent " + parent.String() + " has no handler and dies of it"
	}
	return ""
}

// drains reports whether a process came from the worker and handles the signal, or has done so.
func (l *Ledger) drains(m *record) bool {
	return m.topmost().origin == root && m.handled.Has(l.signalFor(m)) && !program.HandlesWithoutTrap(&m.Process)
}

// onlyServes reports whether a process would only die of the signal, and nothing follows from that: it
// may be a helper of those that drain.
func (l *Ledger) onlyServes(m *record) bool {
	return m.On(l.signalFor(m)) == proc.Dies && m.kind == program.Other && len(l.shown.Children(m.PID)) == 0 && !l.shown.IsRead(m.PID)
}

// mayBeStopping reports whether a process without a handler still works, which a shell with a trap has left: a
// stop command may have asked it to stop (apachectl stop). It has ten seconds, and less if it sleeps.
func (l *Ledger) mayBeStopping(m *record) bool {
	if up := m.parent; up == nil || !up.handled.Has(l.signalFor(up)) || up.kind != program.Shell && (up.sent == nil || !up.sent.shell) {
		return false
	}
	rests := m.Evidence != nil && l.now >= m.restsSince+aSecond/2
	return l.onlyServes(m) && !rests && (m.heldSince == 0 || l.now < m.heldSince+10*aSecond)
}

// groupMayHave reports whether a process beside m, neither above it nor below, may have signalled the process
// group of both. That one without children does not is a guess: sh -c 'a & b' would be late without it.
func (l *Ledger) groupMayHave(m *record) bool {
	return l.groupsHad[m.PGID] || l.anySent(func(p *record) bool {
		return p.PGID == m.PGID && p.sent.handled && p.isParent && !m.isBelow(p) && !p.isBelow(m)
	})
}

// startedBy reports whether a process was below another when the stop began, which has not adopted it since.
func (l *Ledger) startedBy(m, parent *record) bool {
	was, ok := l.Start.Process(m.PID)
	return ok && was.ID == m.ID && was.PPID == parent.PID
}

// workLives reports whether the worker lives, or a process that came from it: it may need the daemons.
func (l *Ledger) workLives() bool {
	for _, m := range l.living {
		if m.topmost().origin == root {
			return true
		}
	}
	return l.alive(l.worker)
}

// helperLives reports whether a process lives that an orphan's parent started in the course of
// the stopping: it may be there to signal the orphan.
func (l *Ledger) helperLives(m, notified *record) bool {
	for _, h := range l.living {
		siblings := h.parent == m.parent || h.parent == nil && h.SID == m.SID
		if notified != nil && h != m && h.sent == nil && siblings && h.bornAfter(notified) {
			return true
		}
	}
	return false
}

// cleansUp reports whether a process that handled the signal has started the orphan since, or one
// that it has started since. Of a child whose parent came and went between two snapshots, or only
// became one after the last, it counts who was signalled in its session.
func (l *Ledger) cleansUp(m *record) bool {
	if m.parent == nil {
		return l.anySent(func(p *record) bool { return p.sent.handled && p.SID == m.SID && m.bornAfter(p) })
	}
	notified := m.notified()
	return m.parent.fate == cleanup || notified != nil && notified.sent.handled && m.bornAfter(notified)
}

// hasTrap reports whether a process is a shell that handled what drainit sent it.
func (m *record) hasTrap() bool {
	return m != nil && m.kind == program.Shell && m.sent != nil && m.sent.handled
}

// survives reports whether a process would live on with what another can have sent it. One that
// blocks the signal may have taken it in sigwait, and be busy with it now.
func (l *Ledger) survives(m *record, passed unix.Signal) bool {
	sent := signals.SetOf(passed, l.signalFor(m))
	return m.NestedInit || (m.handled|m.Ignored|m.Blocked|m.Pending)&sent != 0
}

// anySent reports whether something is true of a process that was signalled.
func (l *Ledger) anySent(is func(*record) bool) bool {
	for _, p := range l.records {
		if p.sent != nil && is(p) {
			return true
		}
	}
	return false
}
