package forward

import (
	"strings"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// decision is what becomes of a child of drainit that was not signalled.
type decision uint8

const (
	keepWaiting    decision = iota // it is decided anew at the next snapshot
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
	snapshot *proc.Snapshot
}

// rule decides about one kind of orphan.
type rule struct {
	name   string
	when   func(*Ledger, *orphan) bool
	decide decision
	why    string // it is signalled, for the log
}

// rules are the rules for orphans, of which the first that fits decides. What was there before the
// stop is not below the worker; all else they signal only where it is certain that no process has.
var rules = [...]rule{
	{"it was left alone", func(_ *Ledger, o *orphan) bool { return o.leftAlone }, keepWaiting, ""},
	{"it is dying", func(_ *Ledger, o *orphan) bool { return o.isDying() }, keepWaiting, ""},
	{"it reads a pipe of a process that lives", (*Ledger).readsPipe, keepWaiting, ""},
	{"it was there before the stop, and the worker lives", (*Ledger).waitsForWorker, keepWaiting, ""},
	{"its parent left a helper that may signal it", (*Ledger).helperLives, keepWaiting, ""},
	{"the signalled one above it is just about it", (*Ledger).notifiedRuns, keepWaiting, ""},
	{"it is untouched", func(_ *Ledger, o *orphan) bool { return o.snapshot.Untouched(o.ID) }, signalNow, "untouched since before the stop"},
	{"it was there before the stop, and its shell has seen to it", (*Ledger).seenToByShell, keepWaiting, ""},
	{"it was there before the stop, and its turn has come", func(_ *Ledger, o *orphan) bool { return o.preexisting },
		signalNow, "it was there before the stop, and the worker has gone"},
	{"the signalled one above it lives", (*Ledger).notifiedLives, keepWaiting, ""},
	{"what was there before the stop lives above it", (*Ledger).preexistingLives, keepWaiting, ""},
	{"it cleans up", (*Ledger).cleansUp, leaveAsCleanup, ""},
	{"a shell started it before its parent became another program", (*Ledger).startedByShell,
		signalNow, "a shell started it beside {parent}, which has gone"},
	{"it lives without a handler", func(l *Ledger, o *orphan) bool { return !l.survives(o.record, o.passed) },
		signalNow, "it lives without handling {signal}, so that no process has sent it that"},
	{"its parent died of it", func(_ *Ledger, o *orphan) bool { return o.parent != nil && o.parent.passedNothingOn() },
		signalNow, "its parent {parent} had no handler and died of it"},
	{"the worker was not signalled", (*Ledger).workerEndedBefore,
		signalNow, "the worker above it had ended before it was signalled"},
	{"its parent was never seen, and none could pass it on", (*Ledger).noneCouldPassItOn,
		signalNow, "its parent is not known, and none that was signalled had a handler"},
	{"another may have signalled it", func(*Ledger, *orphan) bool { return true }, leaveUndecided, ""},
}

// lastCall is the reason of the last call.
const lastCall = "the grace period is nearly over, and no process has signalled it"

// children are drainit's living children, by pid.
func (l *Ledger) children() (all []*record) {
	for _, m := range l.living {
		if m.PPID == l.self {
			all = append(all, m)
		}
	}
	sortByPID(all)
	return all
}

// decide goes through the rules for a child that was not signalled, and notes what is
// final: a handler that goes when it was used is no sign later.
func (l *Ledger) decide(m *record, s *proc.Snapshot) (d decision, why string) {
	o := l.orphanOf(m, s)
	for _, r := range rules {
		if !r.when(l, o) {
			continue
		}
		m.cleanup = m.cleanup || r.decide == leaveAsCleanup
		if r.decide != signalNow && r.name != m.waitsBy && !m.leftAlone {
			m.waitsBy = r.name
			l.waiting = append(l.waiting, Waiting{m.Process, r.name})
		}
		m.leftAlone = m.leftAlone || r.decide >= leaveUndecided
		if r.decide == leaveUndecided {
			u := Undecided{Process: m.Process}
			if o.parent != nil {
				u.Parent = o.parent.Process
			}
			l.undecided = append(l.undecided, u)
		}
		return r.decide, r.reason(o)
	}
	return keepWaiting, ""
}

func (l *Ledger) orphanOf(m *record, s *proc.Snapshot) *orphan {
	o := &orphan{record: m, parent: l.records[m.parent], passed: l.deliver, snapshot: s}
	for up := range l.upFrom(o.parent) {
		if o.topmost = up; o.notified == nil && up.sent != nil {
			o.notified, o.passed = up, up.sent.signal
		}
	}
	return o
}

// reason is why an orphan is signalled.
func (r rule) reason(o *orphan) string {
	if r.decide != signalNow || o.parent == nil {
		return r.why
	}
	why := strings.Replace(r.why, "{parent}", o.parent.String(), 1)
	return strings.Replace(why, "{signal}", signals.Name(o.passed), 1)
}
