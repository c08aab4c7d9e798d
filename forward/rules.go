package forward

import (
	"cmp"
	"strings"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// verdict is what is decided about a process that drainit has not signalled. What is sent, logged, planned and
// shown is this.
type verdict struct {
	fate      fate
	call      bool   // a call signals it now, whatever its fate is
	why       reason // it is signalled, or is not
	orphan    bool   // it is drainit's child: the last call may signal it
	heldSince uint64 // the tick at which its fate was first held, 0 for never
}

// fate is what the rules say of a process before the calls.
type fate uint8

const (
	open      fate = iota // the next snapshot decides anew
	delegated             // open: the process named in the reason is expected to signal it
	passedOn              // open: the process named in the reason has had its time, and may have signalled it
	held                  // open, and the next snapshot comes within moments
	due                   // it is sent the stop signal now
	undecided             // left alone until the last call: a process that has gone may have signalled it
	cleanup               // left alone until the last call: it belongs to the stopping
)

// isFinal reports whether no later snapshot changes the fate: a handler that has run may be gone by then.
func (f fate) isFinal() bool { return f == undecided || f == cleanup }

// reason is a rule in words, and the process that stands in them for %s: nil for one of no name.
type reason struct {
	words string
	of    *record
}

func (r reason) String() string { return strings.Replace(r.words, "%s", r.of.name(), 1) }

// decide decides about a process in a step of a stop, after those above it. Nothing else chooses one that the stop
// signal goes to, but for the worker and its group by --forward worker and group, or where /proc can't be read.
func (s *step) decide(m *record) verdict {
	v := verdict{orphan: m.PPID == s.self, heldSince: m.heldSince}
	v.fate, v.why = s.decideInTime(m)
	if words := s.calls(m); words != "" && v.fate != due { // rule 9
		v.call, v.why = true, reason{words: words}
	}
	if v.fate == held {
		v.heldSince = cmp.Or(m.heldSince, s.now)
	}
	return v
}

// decideInTime goes through the rules before the calls: the first that fits decides.
func (s *step) decideInTime(m *record) (fate, reason) {
	switch {
	case s.Mode == ModeNone:
		return open, reason{words: "the platform signals each process (--forward none)"}
	case s.roots != "":
		if m.origin != root || m != s.worker && s.shown.HasWriters(m.PID) { // a reader has its turn after the writer
			return open, reason{}
		}
		return due, reason{words: s.roots}
	case m.fate.isFinal(): // rule 1: there is nothing to decide
		return m.fate, m.why
	case s.shown.HasWriters(m.PID): // rule 2: another has its turn first, or may be signalling it
		return open, s.waitsForWriter(m)
	case m.PPID == s.self:
		return s.decideOrphan(m)
	}
	return s.decideBelow(m)
}

// decideOrphan is for a child of drainit. A process that runs after it was signalled may be signalling one after the
// other, as tree-kill does; once it sleeps, it is not.
//
// A reader of a pipe ends by itself when its input does: to end it before cuts off the application. A
// daemon that was there before the stop outlives the work; a shell with a trap has seen to its daemons.
func (s *step) decideOrphan(m *record) (fate, reason) {
	notified, top, untouched := m.notified(), m.topmost(), s.isUntouched(m)
	say := func(f fate, words string) (fate, reason) { return f, reason{words: words} }
	switch {
	case m.Pending.Has(unix.SIGKILL): // a signal has ended it (kernel/signal.c, complete_signal)
		return say(open, "it is dying")
	case m.origin == beforeStop && s.workLives():
		return say(open, "waits until the worker has gone")
	case s.onlyServes(m) && (s.draining > 1 || s.draining == 1 && !s.drains(m)):
		return say(open, "waits for the processes that handle the signal: it would only die of it")
	case untouched && s.helperLives(m, notified):
		return say(open, "its parent left a helper that may signal it")
	case untouched && s.alive(notified) && !(s.living[notified.PID] == notified && notified.Asleep) && (m.heldSince == 0 || s.now < m.heldSince+aSecond):
		return say(held, "the signalled process above it is still running")
	case untouched: // rule 3: no process has signalled it since the stop began
		return say(due, "untouched since before the stop")
	case s.alive(notified): // rule 4: one above it has still to act, or to say how it died
		return s.leaveTo(m, notified)
	case notified == nil && top != m && s.alive(top):
		return say(open, "a process that was there before the stop lives above it")
	case m.reads && m.sleptAtItsEnd(): // also rule 6: the end of its input ends it, if the next snapshot shows that it reads
		return say(held, "it has read a pipe of a process that has gone")
	case m.reads:
		return say(cleanup, "it has read a pipe of a process that has gone")
	case m.origin == beforeStop && s.worker.hasTrap(): // rule 5: its turn comes after the worker
		return say(open, "it was there before the stop, and its shell has seen to it")
	case m.origin == beforeStop:
		return say(due, "it was there before the stop, and the worker has gone")
	case s.cleansUp(m): // rule 6: a process that handled the signal has started it since
		return say(cleanup, "it cleans up")
	case s.mayBeStopping(m):
		return held, reason{"%s, which has gone, may have asked it to stop by other means", m.parent}
	}
	if words := s.whyCertain(m); words != "" { // rule 8: all others
		return due, reason{words, m.parent}
	}
	return undecided, reason{"may have been signalled by %s, which has gone", m.parent} // rule 7: it is not certain that no process has signalled it
}

// whyCertain returns why no living or dead process can have signalled an orphan, with %s for its parent; "" where one
// may have done so. Where no parent was seen, one that was signalled may have been above it.
func (l *Ledger) whyCertain(m *record) string {
	parent, notified := m.parent, m.notified()
	switch {
	case l.wouldBeDead(m):
		return "it has no " + signals.Name(l.signalFor(m)) + " handler and still lives, so no process has sent it that"
	case l.groupMayHave(m):
		return ""
	case parent == nil && !l.forgot && !l.anySent((*record).mayHaveHandled):
		return "its parent is not known, and no process that was signalled had a handler"
	case parent == nil:
		return ""
	case notified == nil && parent.topmost().origin == root:
		return "the worker above it had ended before it was signalled"
	case l.startedBeside(m, parent):
		return "a shell started it beside %s, which has gone"
	case parent.passedNothingOn():
		return "its parent %s has no handler and dies of it"
	}
	return ""
}

// decideBelow is for a process below another. It is due if it is the first that handles the signal on a way down from
// a deaf process, and is surely not signalled yet: it is untouched, or the deafness is certain. A process without a
// handler would only die of the signal.
func (s *step) decideBelow(m *record) (fate, reason) {
	if d := s.deafAbove(m); d != nil && s.actsUpon(m) && (m.Untouched || d.certain && !s.groupMayHave(m)) {
		return due, d.why
	}
	up := m.notified()
	if !s.alive(up) {
		up = m.parent
	}
	return s.leaveTo(m, up)
}

// leaveTo leaves a process to one above it, nil for one that no snapshot showed: mostly it is that one's business.
func (s *step) leaveTo(m, up *record) (fate, reason) {
	const itsTime = 4 * aSecond // the first line of progress comes after five
	switch {
	case m.On(s.signalFor(m)) == proc.Dies:
		return open, reason{"not while %s lives: it would only die of the signal", up}
	case !s.actsUpon(m):
		return open, reason{"not while %s lives: it does not act upon the signal", up}
	case up != nil && up.sent != nil && s.now >= up.sent.tick+itsTime:
		return passedOn, reason{"%s above handles the stop signal and may have passed it on", up}
	}
	return delegated, reason{"left to %s", up}
}

func (s *step) waitsForWriter(m *record) reason {
	why := reason{words: "waits until its writer has ended"}
	for _, pid := range s.shown.WritersTo(m.PID) {
		if w := s.living[pid]; w != nil && w != m {
			why = reason{"waits until its writer %s has ended", w}
		}
	}
	return why
}

// calls is rule 9: why a call signals a process, "" where none does. The last call takes the daemons from before the
// stop, and each process that no living process above it may signal. The final call takes every process that handles
// the signal, the upper ones first: the kill would lose its work in any case.
func (s *step) calls(m *record) string {
	switch {
	case s.Purpose < LastCall:
	case s.Mode == ModeNone:
		if m.isMissed() && s.actsUpon(m) {
			return "the platform has not signalled it"
		}
	case s.Purpose == FinalCall && s.actsUpon(m):
		if !s.isSeenTo(m) {
			return "the kill is near"
		}
	case !s.shown.HasWriters(m.PID) && (m.origin == beforeStop || s.actsUpon(m) && s.isOwnCase(m)):
		return "the grace period is nearly over"
	}
	return ""
}

// isDue reports whether a process is signalled in this step, which has decided about it.
func (s *step) isDue(m *record) bool {
	return m.sent == nil && s.living[m.PID] == m && (m.fate == due || m.call)
}

// isSeenTo reports whether the final call leaves a process to one above it: to one that is signalled now, or
// was moments ago, or that has woken it by what it did about the signal.
func (s *step) isSeenTo(m *record) bool {
	for up := m.parent; up != nil; up = up.parent { // which may have gone by now
		switch {
		case s.isDue(up):
			return true
		case up.sent == nil || s.now >= up.sent.tick+2*aSecond:
		case s.now < up.sent.tick+actsAfter, m.lastUntouched == up.sent.snapshot: // it rested until then
			return true
		}
	}
	return false
}

// isOwnCase reports whether no process above one that was not signalled is about to be signalled, or may
// act upon the signal: a celery waits for its jobs, and its pool would end them.
func (s *step) isOwnCase(m *record) bool {
	for below, up := m, s.living[m.PPID]; up != nil; below, up = up, s.living[up.PPID] {
		if s.isDue(up) || s.mayPassOn(up, below) {
			return false
		}
	}
	return true
}

// actsUpon reports whether a process that is sent the signal ends its work by it.
func (l *Ledger) actsUpon(m *record) bool { return m.Handles(l.signalFor(m)) }

// signalFor is what a process is sent: the stop signal if it is the worker or handles that, else TERM. A launcher is
// always sent TERM. A shell ignores QUIT, and on INT waits for its child or dies, whatever trap it has for TERM. So
// a shell is sent TERM, unless the stop signal is not INT and the shell is known to have a trap for it.
func (l *Ledger) signalFor(m *record) unix.Signal {
	heeds := m.kind == program.Other || m.kind == program.Shell && l.deliver != unix.SIGINT && m.MasksKnown() && m.Handles(l.deliver)
	if heeds && (m == l.worker || m.Handles(l.deliver)) {
		return l.deliver
	}
	return unix.SIGTERM
}
