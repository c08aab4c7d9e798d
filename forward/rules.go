package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// decision is what becomes of a child of drainit that was not signalled.
type decision uint8

const (
	noRule         decision = iota // the rule is for others
	keepWaiting                    // the next snapshot decides anew
	signalNow                      // it is sent the stop signal now
	leaveUndecided                 // left alone until the last call, with a line: it may have been signalled
	leaveAsCleanup                 // left alone until the last call: it belongs to the stopping
)

// orphan is a child of drainit that was not signalled, with what its rules ask for.
type orphan struct {
	*record
	parent   *record     // nil where none was seen
	notified *record     // the nearest at or above its parent that drainit signalled
	topmost  *record     // the last known at or above its parent
	passed   unix.Signal // what another can have sent its parent
}

// rules are the rules for orphans, of which the first that fits decides. The ninth is the last
// call (lastcall.go). Each says why, for the log.
var rules = [...]func(*Ledger, *orphan) (decision, string){
	(*Ledger).isSettled,
	(*Ledger).waitsForAnother,
	(*Ledger).isUntouched,
	(*Ledger).isBelowOneThatLives,
	(*Ledger).hasItsTurnAfterTheWorker,
	(*Ledger).belongsToTheStopping,
	(*Ledger).mayHaveBeenSignalled,
	(*Ledger).cannotHaveBeenSignalled,
}

// isSettled is rule 1: it was left alone before, or is dying.
func (l *Ledger) isSettled(o *orphan) (decision, string) {
	switch {
	case o.fate != open:
		return keepWaiting, "it was left alone"
	case o.isDying():
		return keepWaiting, "it is dying"
	}
	return noRule, ""
}

// waitsForAnother is rule 2: another process has its turn first, or may be signalling it. A reader
// of a pipe ends by itself when its input does: to end it before cuts off the application. A
// daemon that was there before the stop outlives the worker.
func (l *Ledger) waitsForAnother(o *orphan) (decision, string) {
	switch {
	case l.shown.HasWriters(o.PID):
		return keepWaiting, "it reads a pipe of a process that lives"
	case o.origin == beforeStop && l.workerLives():
		return keepWaiting, "it was there before the stop, and the worker lives"
	case !o.Untouched || o.notified == nil:
	case l.helperLives(o):
		return keepWaiting, "its parent left a helper that may signal it"
	case l.notifiedRuns(o):
		return keepWaiting, "the signalled process above it is still running"
	}
	return noRule, ""
}

// isUntouched is rule 3: no process has signalled it since the stop began.
func (l *Ledger) isUntouched(o *orphan) (decision, string) {
	if o.Untouched {
		return signalNow, "untouched since before the stop"
	}
	return noRule, ""
}

// isBelowOneThatLives is rule 4: a process above it has still to act, or to say how it died.
func (l *Ledger) isBelowOneThatLives(o *orphan) (decision, string) {
	switch {
	case o.notified != nil && l.alive(o.notified):
		return keepWaiting, "the signalled process above it lives"
	case o.notified == nil && o.topmost != nil && o.topmost.origin == beforeStop && l.alive(o.topmost):
		return keepWaiting, "a process that was there before the stop lives above it"
	}
	return noRule, ""
}

// hasItsTurnAfterTheWorker is rule 5: it was there before the stop, and the worker has gone. A
// shell that had a trap has seen to its daemons itself.
func (l *Ledger) hasItsTurnAfterTheWorker(o *orphan) (decision, string) {
	w := l.records[l.worker]
	switch {
	case o.origin != beforeStop:
		return noRule, ""
	case w != nil && w.program == Shell && w.sent != nil && w.sent.handled:
		return keepWaiting, "it was there before the stop, and its shell has seen to it"
	}
	return signalNow, "it was there before the stop, and the worker has gone"
}

// belongsToTheStopping is rule 6: a process that handled the signal has started it since.
func (l *Ledger) belongsToTheStopping(o *orphan) (decision, string) {
	if l.cleansUp(o) {
		return leaveAsCleanup, "it cleans up"
	}
	return noRule, ""
}

// mayHaveBeenSignalled is rule 7: it is not certain that no process has signalled it.
func (l *Ledger) mayHaveBeenSignalled(o *orphan) (decision, string) {
	if l.whyCertain(o) == "" {
		return leaveUndecided, "another process may have signalled it"
	}
	return noRule, ""
}

// cannotHaveBeenSignalled is rule 8: all others.
func (l *Ledger) cannotHaveBeenSignalled(o *orphan) (decision, string) {
	return signalNow, l.whyCertain(o)
}

// whyCertain returns why no living or dead process can have signalled an orphan; "" where one may
// have done so. Where no parent was seen, one that was signalled may have been above it.
func (l *Ledger) whyCertain(o *orphan) string {
	switch {
	case !l.survives(o.record, o.passed):
		return "it lives without handling " + signals.Name(o.passed) + ", so that no process has sent it that"
	case o.parent == nil && !l.anySent((*record).mayHaveHandled):
		return "its parent is not known, and no process that was signalled had a handler"
	case o.parent == nil:
		return ""
	case o.notified == nil && o.topmost.origin == root:
		return "the worker above it had ended before it was signalled"
	case o.parent.origin == root && o.parent.program == Other && inBackground(&o.Process, &o.parent.Process):
		return "a shell started it beside " + o.parent.String() + ", which has gone" // server & exec worker
	case o.parent.passedNothingOn():
		return "its parent " + o.parent.String() + " had no handler and died of it"
	}
	return ""
}

// helperLives reports whether a process lives that the orphan's parent started in the course of
// the stopping: it may be there to signal the orphan.
func (l *Ledger) helperLives(o *orphan) bool {
	for _, m := range l.living {
		siblings := m.parent == o.record.parent || m.parent == proc.ID{} && m.SID == o.SID
		if m.ID != o.ID && m.sent == nil && siblings && m.bornAfter(o.notified) {
			return true
		}
	}
	return false
}

// notifiedRuns reports whether the signalled process above an orphan runs, for a second at most: it
// may be signalling one process after the other, as tree-kill does. Once it sleeps, it has
// signalled the orphan or does not.
func (l *Ledger) notifiedRuns(o *orphan) bool {
	if above, _ := l.shown.Process(o.notified.PID); !l.alive(o.notified) || above.Asleep {
		return false
	}
	if o.heldSince == 0 {
		o.heldSince = l.now
	}
	return l.now < o.heldSince+aSecond
}

// cleansUp reports whether a process that handled the signal has started the orphan since. Of a
// child whose parent came and went between two snapshots, or only became one after the last,
// it counts who was signalled in its session.
func (l *Ledger) cleansUp(o *orphan) bool {
	if o.parent == nil {
		return l.anySent(func(p *record) bool { return p.sent.handled && p.SID == o.SID && o.bornAfter(p) })
	}
	return o.parent.fate == cleanup || o.notified != nil && l.startedBy(o.record, o.notified)
}

// startedBy reports whether m was started in the course of the stopping: after notified
// was signalled, by a process that handled the signal, or by a process that such a one has started
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

// orphanOf finds what the rules ask for.
func (l *Ledger) orphanOf(m *record) *orphan {
	o := &orphan{record: m, parent: l.records[m.parent], passed: l.deliver}
	for up := range l.upFrom(o.parent) {
		if o.topmost = up; o.notified == nil && up.sent != nil {
			o.notified, o.passed = up, up.sent.signal
		}
	}
	return o
}

// decide goes through the rules for a child that was not signalled, and notes what is
// final: a handler that goes when it was used is no sign later.
func (l *Ledger) decide(m *record) (d decision, why string) {
	o := l.orphanOf(m)
	for _, rule := range rules {
		if d, why = rule(l, o); d != noRule {
			break
		}
	}
	switch d {
	case keepWaiting:
		l.note(Waiting{Process: m.Process, Rule: why}, m)
	case leaveAsCleanup:
		l.note(Waiting{Process: m.Process, Rule: why}, m)
		m.fate = cleanup
	case leaveUndecided:
		w := Waiting{Process: m.Process, Rule: why, Undecided: true}
		if o.parent != nil {
			w.Parent = o.parent.Process
		}
		l.note(w, m)
		m.fate = undecided
	}
	return d, why
}
