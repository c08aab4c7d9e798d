package forward

import (
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// The conclusions of this file are what the rules rest on. Each is a claim about a process; after "False" stands what
// would make it so. A fact that is not known counts as "may". docs/architecture.md has the tests that try each.

// evidence is what the snapshots of a stop have shown of a process.
type evidence struct {
	handled   signals.Set // at any snapshot: a handler that has run may be gone later (SA_RESETHAND, an exec)
	ignored   signals.Set // at every snapshot
	firstCall proc.Call   // in its first snapshot

	isParent  bool // at any snapshot
	execed    bool // since it was first seen
	lostChild bool // since it was signalled
	reads     bool // it has read a pipe that another process below drainit wrote to

	readsUntil  uint64 // the tick of the last snapshot that showed a writer
	asleepSince uint64 // the tick of the snapshot since which it has not run

	first, last   int32 // the snapshots that showed it, by number; 0 for none
	lastUntouched int32 // the last that showed it untouched
	lastWithBelow int32 // the last at which one below it had a record
}

// actsAfter is how long a process has to act upon a signal before it counts as deaf, in ticks.
const actsAfter, aSecond = 5, 100

// isUntouched claims that no process has signalled m since the stop began.
// False: it ignores the signal, which then does not wake it.
func (l *Ledger) isUntouched(m *record) bool {
	return m.Untouched && m.On(l.signalFor(m)) != proc.Ignores
}

// isMissed claims that the platform, which signals each process, has not signalled m: it came later, or nothing has
// woken it. False: it was signalled before the first snapshot, and has slept since.
func (m *record) isMissed() bool { return m.Untouched || m.first > 1 }

// mayHaveHandled reports whether a signalled process may have had a handler at any time: a snapshot showed one, or
// no snapshot showed the process. Where /proc has no signal masks, death by the signal means that it had none.
func (m *record) mayHaveHandled() bool {
	return m.first == 0 || m.handled.Has(m.sent.signal) && (m.MasksKnown() || !m.diedOfIt())
}

// passedNothingOn claims that a process that has gone signalled no other: it never had a handler for the signal, and
// died of it. False: its handler ran, and then sent it the signal again or executed a program that died of it.
func (m *record) passedNothingOn() bool {
	return m.sent != nil && !m.mayHaveHandled() && (m.exit == nil || m.diedOfIt())
}

// diedOfIt reports whether a process that was signalled has ended by that signal.
func (m *record) diedOfIt() bool {
	return m.sent != nil && m.exit != nil && m.exit.Signal() == m.sent.signal // -1 for an exit
}

// wouldBeDead claims that no process has forwarded the stop signal to m: m would have died of it. A process that
// blocks the signal may have taken it in sigwait, and be busy now. Yet m may have been asked to stop by other means.
func (l *Ledger) wouldBeDead(m *record) bool {
	sent := signals.SetOf(l.deliver, l.signalFor(m))
	return !m.NestedInit && (m.handled|m.Ignored|m.Blocked|m.Pending)&sent == 0
}

// groupMayHave reports whether a process of m's process group, which is not above m, may have signalled the group.
// drainit guesses that a process without children does not: else a or b of sh -c 'a & b' would be late.
func (l *Ledger) groupMayHave(m *record) bool {
	return l.groupsHad[m.PGID] || l.anySent(func(p *record) bool {
		return p.PGID == m.PGID && p.sent.handled && p.isParent && !m.isBelow(p)
	})
}

// startedBeside claims that the parent of an orphan does not know of it: a shell started both, and became the parent. It
// is a guess, without which server & exec worker would be late. False: the parent signals its group.
func (l *Ledger) startedBeside(m, parent *record) bool {
	was, _ := l.Start.Process(m.PID)
	inItsPlace := was.ID == m.ID && was.PPID == parent.PID // the parent has not adopted it since
	return inItsPlace && parent.sent != nil && !parent.sent.shell && program.InBackground(&m.Process, &parent.Process)
}

// hasTrap reports whether a process is a shell that handled what drainit sent it.
func (m *record) hasTrap() bool {
	return m != nil && m.kind == program.Shell && m.sent != nil && m.sent.handled
}

// deafness is why a process that was signalled some time ago passes nothing on.
type deafness struct {
	why     reason
	to      []*proc.Process // the children that a shell waits for; nil for all
	certain bool            // that it passes nothing on to them, and that another has not
}

// deafness claims that a process passes nothing on: it ignores the signal, has not taken it, or waits for a child
// first. Of an orphan that was left alone another may have signalled the children. It is nil where the process may act.
func (l *Ledger) deafness(m *record) *deafness {
	sig, _, hadTime := l.reached(m)
	if !hadTime {
		return nil
	}
	if words := deafFor(m, sig); words != "" {
		return &deafness{why: reason{words, m}, certain: m.sent != nil}
	}
	if m.kind != program.Shell {
		return nil
	}
	these, certain := l.blockingTrap(m)
	if len(these) == 0 {
		return nil
	}
	return &deafness{why: reason{"%s above waits for it", m}, to: these, certain: certain && m.sent != nil}
}

// reached is the signal that has reached a process, or may have, whether it handled that, and whether it
// had time to act upon it.
func (l *Ledger) reached(m *record) (sig unix.Signal, handled, hadTime bool) {
	if m.sent != nil {
		return m.sent.signal, m.sent.handled, l.now >= m.sent.tick+actsAfter
	}
	sig = l.signalFor(m)
	return sig, m.handled.Has(sig) || m.handled.Has(l.deliver), m.fate.isFinal()
}

// notActing reports whether a process possibly does not act upon the signal that has reached it.
func (l *Ledger) notActing(m *record) bool {
	sig, handled, _ := l.reached(m)
	return !handled || m.kind == program.Shell || m.Pending.Has(sig) || program.PassesNothingOn(&m.Process)
}

// deafFor is why a process does not act upon a signal that it was sent some time ago; "" where it may. A pending
// signal counts only if the process sleeps: else it will take the signal. A process that had a handler at any
// snapshot is not deaf, except a launcher: it may have forwarded the signal, or take the pending one later.
func deafFor(m *record, sig unix.Signal) string {
	hadHandler := m.handled.Has(sig)
	switch {
	case m.Pending.Has(sig) && !hadHandler && (m.State == 'S' || m.State == 'D'):
		return "%s above has not taken it"
	case m.ignored.Has(sig):
		return "%s above ignores it"
	case program.PassesNothingOn(&m.Process):
		return "%s above passes nothing on"
	case m.NestedInit && !hadHandler:
		return "%s above is the first of a PID namespace and has no handler"
	}
	return ""
}

// blockingTrap returns the children that a shell waits for before it can run its trap, and whether this is certain.
// It is certain for a child that is surely in the foreground, and for dash and busybox in wait4(2) (program.Waits).
// It is not once a child has gone: that may have been the one in the foreground, or the one whose marks told the
// others apart. Any other shell counts as waiting while it has all its children and none was signalled: its trap may
// signal one after the other. False: the shell has started a process since, so its trap runs.
func (l *Ledger) blockingTrap(shell *record) (these []*proc.Process, certain bool) {
	children := l.shown.Children(shell.PID)
	if l.hasStarted(shell) || program.WaitingOf(&shell.Process) == program.NotWaiting {
		return nil, false
	}
	for _, p := range children {
		if !shell.lostChild && program.InForeground(l.shown, p, &shell.Process) {
			these = append(these, p)
		}
	}
	waits := shell.waitsFor()
	runs := waits == program.NotWaiting || waits == program.MayWait && (shell.lostChild || !shell.firstCall.Sleeps)
	for _, p := range children {
		runs = runs || waits == program.MayWait && !p.Untouched && !l.wouldBeDead(l.living[p.PID])
	}
	if len(these) > 0 || runs {
		return these, true
	}
	these = slices.DeleteFunc(program.Foreground(l.shown, children), func(p *proc.Process) bool { return program.InBackground(p, &shell.Process) })
	return these, waits == program.Waits && !shell.lostChild
}

// hasStarted reports whether a process has started another in the stop.
func (l *Ledger) hasStarted(m *record) bool {
	return slices.ContainsFunc(l.shown.Children(m.PID), func(p *proc.Process) bool {
		child := l.living[p.PID]
		return child == nil || child.first > 1
	})
}

// waitsFor reports whether a shell may wait for what it waited for at first. Its stack is
// the same as long as it waits for one command, and mostly another one when a trap has run: it waits
// for the next command from another depth, or from within its trap.
func (m *record) waitsFor() program.Waiting {
	waits := program.WaitingOf(&m.Process)
	if waits == program.MayWait && m.Call.Stack != m.firstCall.Stack {
		return program.NotWaiting
	}
	return waits
}

// mayPassOn reports whether a process may have acted upon the signal, and so have signalled a child. A
// shell with a trap does so for a child in its background, unless it is known to wait in wait4(2).
func (l *Ledger) mayPassOn(up, child *record) bool {
	switch {
	case !up.hasTrap():
		return !l.notActing(up)
	case l.hasStarted(up):
		return true
	case up.waitsFor() == program.MayWait:
		return program.InBackground(&child.Process, &up.Process)
	}
	return up.waitsFor() == program.NotWaiting
}

// sleptAtItsEnd reports whether a process that reads a pipe has slept since a snapshot that showed a writer: the
// end of the last writer would have woken it if it waited for input.
func (m *record) sleptAtItsEnd() bool {
	return m.asleepSince <= m.readsUntil
}

// drains reports whether a process came from the worker and handles the signal, or has done so.
func (l *Ledger) drains(m *record) bool {
	return m.topmost().origin == root && m.handled.Has(l.signalFor(m)) && !program.HandlesWithoutTrap(&m.Process)
}

// onlyServes reports whether a process would die of the signal and has no child and no reader of its output. It may
// be a helper of the processes that drain. A shell or a launcher is none.
func (l *Ledger) onlyServes(m *record) bool {
	return m.On(l.signalFor(m)) == proc.Dies && m.kind == program.Other && len(l.shown.Children(m.PID)) == 0 && !l.shown.IsRead(m.PID)
}

// mayBeStopping reports whether an orphan without a handler may be about to end: its parent was a shell with a trap,
// whose stop command may have stopped it (apachectl stop). It has ten seconds, or half a second from when it sleeps.
func (l *Ledger) mayBeStopping(m *record) bool {
	if up := m.parent; up == nil || !up.handled.Has(l.signalFor(up)) || up.kind != program.Shell && (up.sent == nil || !up.sent.shell) {
		return false
	}
	rests := l.now >= m.asleepSince+aSecond/2
	return l.onlyServes(m) && !rests && (m.heldSince == 0 || l.now < m.heldSince+10*aSecond)
}

// cleansUp claims that an orphan belongs to the stopping: it was started after a process above it handled the signal,
// or its parent belongs to the stopping. If no snapshot showed its parent, a process of its session that handled the
// signal counts as the process above it.
func (l *Ledger) cleansUp(m *record) bool {
	if m.parent == nil {
		return l.anySent(func(p *record) bool { return p.sent.handled && p.SID == m.SID && m.bornAfter(p) })
	}
	notified := m.notified()
	return m.parent.fate == cleanup || notified != nil && notified.sent.handled && m.bornAfter(notified)
}

// helperLives claims that a process lives that an orphan's parent started in the course of the stopping: it may be
// there to signal the orphan. False: it does something else, and the orphan is late.
func (l *Ledger) helperLives(m, notified *record) bool {
	for _, h := range l.living {
		siblings := h.parent == m.parent || h.parent == nil && h.SID == m.SID
		if notified != nil && siblings && h.bornAfter(notified) {
			return true
		}
	}
	return false
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

// anySent reports whether something is true of a process that was signalled.
func (l *Ledger) anySent(is func(*record) bool) bool {
	for _, p := range l.records {
		if p.sent != nil && is(p) {
			return true
		}
	}
	return false
}
