package forward

import (
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// This file has the relation between a process and one above it (up), or one beside it in its process group:
// may up have signalled it, and may up yet? The rules ask it of every process above.

// How many ticks a living process above is expected to signal one, from when that came to drainit. Most that
// live only wait: one that has slept since has waitingTime, and any other steppingTime at most, such as one
// that is visibly between two steps of a stop. A process has actsAfter to act upon its own signal.
const (
	aSecond      = 100
	actsAfter    = 5
	waitingTime  = aSecond
	steppingTime = 5 * aSecond
)

// hasNot returns why up has not signalled m, and "" if it may have. below is the process on the way to m that
// up has started, perhaps m itself.
func (s *step) hasNot(up, below, m *record) string {
	reach := s.reach(up)
	switch {
	case s.passedNothingOn(up):
		return "%s above has no handler for it"
	case below == m && s.startedBeside(m, up) && (!up.hasHandled() || m.Asleep):
		return "a shell started it beside %s, which has gone"
	case reach == program.NoProcess:
		return "%s above is known to signal no process"
	case !reaches(reach, up, below, m):
		return "%s above is known to reach no further than its own children"
	case s.sleptThrough(m, up):
		return "untouched since %s above has run"
	case s.waitsFor(up, below) == program.Waits:
		return "%s above waits for it"
	case s.alive(up):
		return s.cannotAct(up)
	}
	return ""
}

// passedNothingOn claims that a process has signalled no other: no snapshot showed a handler for the signal,
// and it died of the signal or, while its end is not known, can't have been asked to stop by anything else.
// Wrong if a handler ran that no snapshot showed, and the process then sent itself the signal, or executed a
// program that died of it.
func (s *step) passedNothingOn(m *record) bool {
	return !s.mayHaveHandled(m) && (s.diedOfIt(m) || m.exit == nil && !s.mayBeAsked(m))
}

// mayBeAsked reports whether a process that drainit has not signalled may have been asked to stop all the
// same, by another signal, a file or a pipe. It has run in the stop, and one above it, no launcher, has
// handled the signal and may have acted upon it.
func (s *step) mayBeAsked(m *record) bool {
	if m.sent != nil || m.lastRun <= m.first {
		return false
	}
	for below := m; below.parent != nil; below = below.parent {
		up := below.parent
		mayAct := up.hasHandled() && up.kind != program.Launcher && s.cannotAct(up) == ""
		if mayAct && s.waitsFor(up, below) != program.Waits {
			return true
		}
	}
	return false
}

// reaches reports whether up may signal m, as far as its program is known. A program of a reach that is
// OnlyChildren signals its children alone. A program of reach Group signals no other group than its own and,
// as long as its child lives, that of the child: all in a group get the signal at one moment.
func reaches(reach program.Reach, up, below, m *record) bool {
	if reach == program.Group {
		return m.PGID == up.PGID || m.PGID == below.PGID && m.lastUntouched <= below.last
	}
	isOwn := reach != program.Forks || m.Exe == up.Exe
	return !reach.OnlyChildren() || below == m && reach != program.NoProcess && isOwn
}

// sleptThrough claims that up has not signalled m. At the last snapshot that showed m untouched, no signal
// had come to m. Since then up has not run, or up had gone by then, and neither that snapshot nor a later one
// shows a process that up has started in the stop. In a snapshot the older of two processes was read first
// (proc.Reader.Tree), so one snapshot proves it of an older up alone.
func (h *History) sleptThrough(m, up *record) bool {
	ignores := m.On(h.signalFor(m)) == proc.Ignores
	switch isOlder := up.Start < m.Start || up.Start == m.Start && up.PID < m.PID; {
	case m.lastUntouched <= max(up.lastStarted, h.strays[m.SID]), up.first == 0, ignores:
		return false
	case h.living[up.PID] != up:
		return up.last < m.lastUntouched
	case isOlder:
		return up.lastRun <= m.lastUntouched
	}
	return up.lastRun < m.lastUntouched
}

// span is for how long the stop signal of a process is left to another, living process: for ticks from since
// on. If ticks is 0, it is left for as long as the other process lives.
type span struct{ since, ticks uint64 }

func (s span) end() uint64 { return s.since + s.ticks }

// expected returns the nearest living process above m that may still signal it (up, nil for none), and how
// long m waits for that: for as long as up lives, if up acts upon the signal or is about to end. If m acts
// upon the signal and nothing can have signalled it so far (isBounded), two kinds get a limited time: a shell
// that may be waiting for m, and a process that is no ancestor any more, because one between them has ended.
// Wrong if up needs longer: m gets two signals.
func (s *step) expected(m *record, isBounded bool) (up *record, its span) {
	var orphan *record // the one that is m, or above m
	for below := m; below.parent != nil; below = up {
		up = below.parent
		if s.isOrphan(below) && s.living[below.PID] == below {
			orphan = below
		}
		switch isDying := orphan == nil && (up.sent != nil && s.Purpose < LastCall || s.isDue(up)); {
		case !s.alive(up), s.cannotAct(up) != "", s.waitsFor(up, below) != program.NotWaiting:
			continue
		case s.living[up.PID] == up && !s.handled(up) && !s.mayBeAsked(up) && !isDying:
			continue // those above decide
		case orphan != nil && s.living[up.PID] == up && !reaches(s.reach(up), up, below, m):
			continue
		}
		its = s.spanOf(up, below, orphan)
		if !isBounded || its.ticks == 0 || s.now < its.end() {
			return up, its
		}
	}
	return nil, span{}
}

// spanOf returns for how long a process is left to up, which lives above it, to be signalled by up. orphan is
// the one that is the process, or is above it and below up, nil if all of these still have their parents.
// below is the process on that way that up has started. A living manager of an orphan has a second or,
// between two steps, five. A shell that may wait for a child in its foreground has a second.
func (s *step) spanOf(up, below, orphan *record) span {
	isPausing := isPause(up.Call) || s.sleeps(up)
	if orphan == nil {
		if !up.hasTrap() || s.hasStarted(up) || isPausing || !s.mayBeForeground(up, below) {
			return span{}
		}
		since := max(up.sent.tick+aSecond/2, up.asleepSince) // it has slept for half of the time then
		return span{since - aSecond/2, waitingTime}
	}
	came := orphan.cameAt()
	end := came + steppingTime
	switch polls := s.polls(up, orphan); {
	case s.hasStarted(up) && !s.sleeps(up):
	case polls:
		end = came + waitingTime
	case !isPausing: // half of its time it must have slept
		end = min(end, max(came+waitingTime, up.asleepSince+aSecond/2))
	}
	if s.now < end && end > came+waitingTime {
		s.lookAgain(s.now + aSecond/2) // it may be polling
	}
	return span{came, end - came}
}

// isPause reports whether a process that sleeps in a call sleeps between two steps.
func isPause(c proc.Call) bool {
	return c.Number == unix.SYS_NANOSLEEP || c.Number == unix.SYS_CLOCK_NANOSLEEP
}

// sleeps reports whether all that lives of what a process has started in the stop is sleep(1).
func (s *step) sleeps(m *record) bool {
	isWork := func(p *proc.Process) bool {
		child := s.living[p.PID]
		return child == nil || child.first > 1 && program.IdlesUntil(p) == 0
	}
	return s.hasStarted(m) && !slices.ContainsFunc(s.shown.Children(m.PID), isWork)
}

// polls claims that a process looks for something again and again, and is not between two steps: since an
// orphan came to drainit, it has twice gone on from a pause to the same place.
func (s *step) polls(m, orphan *record) bool {
	if p := &orphan.pause; p.of != m || p.at != m.Call || p.switches == 0 {
		*p = halt{m, m.Call, m.Switches}
	}
	return m.Switches >= orphan.pause.switches+2
}

// cannotAct returns why a process will not act upon what reached it some time ago, and "" if it may. A
// process that had a handler in any snapshot may: the handler may have run. Two do not, all the same: a
// launcher that is known to pass nothing on and, in the last and the final call, a process whose signal is
// still pending. Without a handler, a pending signal counts as not taken in two more cases. The process waits
// for its one child as it did in its first snapshot: nothing but the child ends that wait, or a handler for a
// signal that may come by itself. Or it has been in state D for two seconds: it may hang in the kernel.
func (s *step) cannotAct(m *record) string {
	sig := s.reached(m)
	hadHandler, isPending := m.everHandled.Has(sig), m.Pending.Has(sig)
	waitsOn := m.WaitsForChild() && m.Call == m.firstCall && m.Handled&byItself == 0
	hangs := m.State == 'D' && m.sent != nil && s.now >= m.sent.tick+2*aSecond
	switch {
	case m.fate == spared:
		return "%s above is left alone"
	case !s.hadTime(m):
	case isPending && s.Purpose >= LastCall,
		isPending && !hadHandler && (hangs || waitsOn && len(s.shown.Children(m.PID)) == 1):
		return "%s above has not taken it"
	case m.alwaysIgnored.Has(sig):
		return "%s above ignores it"
	case program.PassesNothingOn(&m.Process):
		return "%s above passes nothing on"
	case m.NestedInit && !hadHandler:
		return "%s above is the first of a PID namespace and has no handler"
	case m.kind == program.Shell && s.sleepsOn(m):
		return "%s above waits for a sleep that is longer than the grace period"
	}
	return ""
}

// byItself are the signals that may come to a process though no other process sends them.
var byItself = signals.SetOf(unix.SIGCHLD, unix.SIGALRM, unix.SIGVTALRM, unix.SIGPROF, unix.SIGIO)

// hadTime reports whether drainit signalled m at least actsAfter ticks ago. If drainit has not signalled m,
// hadTime reports whether this is the last or the final call, or the last verdict on m was that it may have
// been signalled, or may end by itself.
func (s *step) hadTime(m *record) bool {
	if m.sent != nil {
		return s.now >= m.sent.tick+actsAfter
	}
	return s.Purpose >= LastCall || m.fate == inDoubt || m.fate == ends
}
