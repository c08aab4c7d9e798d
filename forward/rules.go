package forward

import (
	"cmp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// verdict is what is decided about a process that drainit has not signalled. It is what is sent, logged,
// planned and shown. The next snapshot brings a new verdict, from what all snapshots have shown.
type verdict struct {
	fate    fate
	call    bool   // the last or the final call signals it now, whatever its fate is
	why     reason // why it is signalled or not
	isChild bool   // it is drainit's child: the last call may signal it
}

// fate is what decideInTime decides about a process. Near the end of the grace period, the last and the final
// call may signal it in spite of its fate.
type fate uint8

const (
	waits   fate = iota // its turn has not come, or it would only die of the signal
	spared              // it is left alone, and what is below it is signalled
	left                // the living process named in the reason is expected to signal it
	overdue             // that one has had its time, and is not known to signal it
	ends                // it may end by itself
	inDoubt             // a process may have signalled it, and none that lives is expected to
	due                 // it is sent the stop signal now
)

// undecided reports whether another process may have signalled the process, or has had its time to.
func (v verdict) undecided() bool { return v.fate == inDoubt || v.fate == overdue }

// reason says in words why a process is signalled or not. A %s in the words stands for the process of: a nil
// one is called "its parent".
type reason struct {
	words string
	of    *record
}

func (r reason) String() string { return strings.Replace(r.words, "%s", r.of.name(), 1) }

// none reports whether there is no reason.
func (r reason) none() bool { return r == reason{} }

// decide returns the verdict on a process in a step of a stop, after those on the processes above it. It
// makes every choice of a process for the stop signal, with two exceptions: --forward worker and group choose
// the worker and its group, and without /proc nothing is decided here.
func (s *step) decide(m *record) verdict {
	v := verdict{isChild: m.PPID == s.self}
	v.fate, v.why = s.decideInTime(m)
	switch words := s.calls(m); {
	case s.Mode == ModeHandlers && m == s.worker && m.On(s.signalFor(m)) == proc.Dies:
		v.fate, v.why = spared, reason{words: "left alone: it has no handler, and as PID 1 would go on"}
	case v.fate != due && words == "":
	case s.isSpared(m):
		v.fate, v.why = spared, reason{words: "left alone: it would send on more than the one signal"}
	case v.fate != due:
		v.call, v.why = true, reason{words: words}
	}
	return v
}

// decideInTime returns the fate of a process without the last and the final call, and the reason for it. A
// process is signalled as soon as its turn has come, no process can have signalled it, and none that lives is
// expected to. So four questions are asked about it:
//
//	turn     what must it wait for, whichever process signals it?
//	past     why can no process have signalled it?
//	future   which living process is expected to signal it?
//	own end  why may it end by itself?
//
//	                     none can have signalled it          one may have
//	none is expected to  it is signalled                     it is in doubt until the last call
//	one is               it is left to that one, for a time  it is left to that one
func (s *step) decideInTime(m *record) (fate, reason) {
	switch {
	case m.wentOn:
		return due, reason{words: "it goes on after SIGINT"}
	case s.Mode == ModeNone:
		return waits, reason{words: "the platform signals each process (--forward none)"}
	case !s.roots.none() && m.origin == root && (m == s.worker || !s.hasWriter(m)):
		return due, s.roots
	case !s.roots.none() && m.topmost().fate != spared:
		return waits, reason{}
	}
	if why := s.turn(m); !why.none() {
		return waits, why
	}
	proof, by := s.past(m)
	if fate, why := s.future(m, !proof.none()); !why.none() {
		return fate, why
	}
	if why := s.ownEnd(m); !why.none() {
		return ends, why
	}
	switch {
	case !proof.none():
		return due, proof
	case s.alive(by):
		return inDoubt, reason{"may have been signalled by %s", by}
	}
	return inDoubt, reason{"may have been signalled by %s, which has gone", by}
}

// turn returns what a process must wait for, whichever process signals it, and no reason if its turn has
// come.
func (s *step) turn(m *record) reason {
	say := func(words string) reason { return reason{words: words} }
	top := m.topmost()
	switch {
	case s.hasWriter(m):
		return s.waitsForWriter(m)
	case m.nearestSignalled() == nil && top != m && s.alive(top) && top.fate != spared:
		return say("a process that was there before the stop lives above it")
	case !s.isOrphan(m):
	case m.Pending.Has(unix.SIGKILL): // a signal has ended it (kernel/signal.c, complete_signal)
		return say("it is dying")
	case m.origin == beforeStop && s.working:
		return say("waits until the worker has gone")
	case s.isBareLeaf(m) && (s.draining > 1 || s.draining == 1 && !s.drains(m)):
		return say("waits for the processes that handle the signal: it would only die of it")
	}
	return reason{}
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

// past returns why no process can have signalled m since the stop began (proof). If one may have, proof is
// empty, and by is that process, nil if no snapshot showed it. That a process which has gone may have asked m
// to stop by other means than a signal is a matter of m's own end (mayBeStopping).
func (s *step) past(m *record) (proof reason, by *record) {
	say := func(words string) (reason, *record) { return reason{words, m.parent}, nil }
	top := m.topmost()
	switch {
	case s.isUntouched(m):
		return say("untouched since before the stop")
	case s.wouldBeDead(m):
		name := signals.Name(s.signalFor(m))
		return say("it has no " + name + " handler and still lives, so no process has sent it that")
	case m.origin == beforeStop && (!s.worker.hasHandled() || m.Asleep):
		return say("it was there before the stop, and the worker has gone")
	case m.origin == beforeStop:
		return reason{}, s.worker
	case m.nearestSignalled() == nil && top.origin == root && top != m && !s.alive(top):
		return say("the worker above it had ended before it was signalled")
	case m.origin == root:
		return say("no process is above it")
	case program.BearsTwo(&m.Process):
		return say("a second signal does it no harm")
	case s.isOrphan(m) && m.parent != nil && s.reach(m.parent) == program.NoProcess: // a guess
		return say("its parent %s is known to signal no process")
	}
	for below := m; below.parent != nil; below = below.parent {
		words := s.hasNot(below.parent, below, m)
		if words == "" {
			return reason{}, below.parent
		}
		if proof.none() {
			proof = reason{words, below.parent}
		}
	}
	switch isUnknown := top.origin == belowWorker && s.anySent(s.mayHaveHandled); {
	case isUnknown, s.mayBeSignalledWithGroup(m):
		return reason{}, m.parent
	case m.parent == nil:
		return say("its parent is not known, and no process that was signalled had a handler")
	}
	return proof, nil
}

// future returns the fate of a process that is left to a living one, and the reason. It returns due and no
// reason if no living process is expected to signal it. isProven says that no process can have signalled it
// so far.
func (s *step) future(m *record, isProven bool) (fate, reason) {
	acts := s.actsUpon(m)
	up, its := s.expected(m, isProven && acts)
	parentLives := s.living[m.PPID] != nil // else m is about to come to drainit
	switch {
	case !s.isOrphan(m) && s.holdsUpTrap(m):
		return due, reason{}
	case up != nil && isProven && acts && its.ticks > 0:
		s.lookAgain(its.end())
		return left, reason{"left to %s for " + strconv.FormatUint(its.ticks/aSecond, 10) + "s", up}
	case up != nil:
		return s.leaveTo(m, up)
	case !s.isOrphan(m) && !(parentLives && (acts || s.isInterrupted(m))):
		return s.leaveTo(m, cmp.Or(m.nearestSignalled(), m.parent))
	case s.isUntouched(m) && s.startedSibling(m) && s.now < m.cameAt()+steppingTime:
		s.lookAgain(m.cameAt() + steppingTime)
		return left, reason{words: "its parent left a helper that may signal it"}
	}
	return due, reason{}
}

// leaveTo returns the fate and the reason of m, which is left to up, a process above it. Whether m ends is
// mostly up's own business. up is nil if no snapshot showed that process.
func (s *step) leaveTo(m, up *record) (fate, reason) {
	const itsTime = 4 * aSecond // the first line of progress comes after five
	switch {
	case m.On(s.signalFor(m)) == proc.Dies:
		return waits, reason{"not while %s lives: it would only die of the signal", up}
	case !s.actsUpon(m):
		return waits, reason{"not while %s lives: it does not act upon the signal", up}
	case up != nil && up.hasHandled() && s.now >= up.sent.tick+itsTime && s.reach(up) == program.Unknown:
		return overdue, reason{"left to %s", up}
	}
	return left, reason{"left to %s", up}
}

// ownEnd returns why an orphan may end by itself, and no reason if it may not. What it reads has ended, it
// cleans up, or it may have been asked to stop. An untouched orphan has neither read an end nor been asked.
func (s *step) ownEnd(m *record) reason {
	say := func(words string) reason { return reason{words: words} }
	switch {
	case !s.isOrphan(m), s.isUntouched(m):
	case m.reads:
		if m.sleptAtItsEnd() { // if it reads, the end of its input wakes it, which the next snapshot shows
			s.lookAgain(s.now + actsAfter)
		}
		return say("it has read a pipe of a process that has gone")
	case m.origin == beforeStop && s.worker.hasTrap() && !s.wouldBeDead(m):
		return say("it was there before the stop, and its shell has seen to it")
	case s.cleansUp(m):
		return say("it cleans up")
	case s.mayBeStopping(m):
		s.lookAgain(s.now + aSecond/2)
		return reason{"%s, which has gone, may have asked it to stop by other means", s.leftBy(m)}
	}
	return reason{}
}

// lookAgain makes the next snapshot come at this tick at the latest.
func (s *step) lookAgain(tick uint64) {
	if again := tick - s.now; s.Again == 0 || again < s.Again {
		s.Again = again
	}
}
