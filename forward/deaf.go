package forward

import (
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
)

// actsAfter is how long a process has to act upon a signal before it counts as deaf, in ticks.
const actsAfter, aSecond = 5, 100

// BlockedTrap is a shell that was signalled and can't run its trap before a child ends.
type BlockedTrap struct{ Shell, Child proc.Process }

// reached is the signal that has reached a process, or may have, whether it handled that, and whether it
// had time to act upon it.
func (l *Ledger) reached(m *record) (sig unix.Signal, handled, hadTime bool) {
	if m.sent != nil {
		return m.sent.signal, m.sent.handled, l.now >= m.sent.tick+actsAfter
	}
	sig = l.signalFor(m)
	return sig, m.handled.Has(sig) || m.kind != program.Shell && m.handled.Has(l.deliver), m.fate.isLeft()
}

// notActing reports whether a process that was signalled may not act upon it.
func (l *Ledger) notActing(m *record) bool {
	sig, handled, _ := l.reached(m)
	return !handled || m.kind == program.Shell || m.Pending.Has(sig) || program.PassesNothingOn(&m.Process)
}

// deafFor is why a process that was sent a signal some time ago does not act upon it; "" where it may.
// One that runs takes it yet. A process that had a handler at any snapshot may have passed the signal on before
// it ignored or blocked it, and may take the one that is pending later.
func deafFor(m *record, sig unix.Signal) string {
	hadHandler := m.handled.Has(sig)
	switch {
	case m.Pending.Has(sig) && !hadHandler && (m.State == 'S' || m.State == 'D'):
		return "has not taken it"
	case m.ignored.Has(sig):
		return "ignores it"
	case program.PassesNothingOn(&m.Process):
		return "passes nothing on"
	case m.NestedInit && !hadHandler:
		return "is the first of a PID namespace and has no handler"
	}
	return ""
}

// passBelowDeaf signals below the processes that were signalled some time ago and can't act upon it: they
// ignore the signal, or have not taken it, or are shells that wait for a child first. Orphans that were
// left alone count, for another may have signalled them.
func (l *Ledger) passBelowDeaf() {
	for _, m := range l.shownNow() {
		sig, handled, hadTime := l.reached(m)
		if !hadTime || !l.notActing(m) {
			continue
		}
		why, these, certain := deafFor(m, sig), l.shown.Children(m.PID), true
		if why == "" {
			if these = nil; m.kind == program.Shell && handled {
				these, certain = l.blockingTrap(m)
			}
			why = "waits for it"
			// A child without a handler may end within moments, and is given a second.
			if m.sent != nil && len(these) > 0 && (these[0].Handles(sig) || l.now >= m.sent.tick+aSecond) {
				l.plan.BlockedTraps = append(l.plan.BlockedTraps, BlockedTrap{m.Process, *these[0]})
			}
		}
		l.pass(these, m.String()+" above "+why, !certain || m.sent == nil)
	}
}

// blockingTrap are the children that a shell waits for before it can run its trap, and whether that is certain:
// it is for what is surely in the foreground, and for dash and busybox (program.Waits), unless a child has gone,
// which may have been the one in the foreground, or the one by whose marks the others are known. Any other
// shell counts as waiting as long as it has all its children and none was signalled: a trap may signal one after
// the other. A shell that has started something since runs its trap.
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
	runs := waits == program.NotWaiting || waits == program.MayWait && (shell.lostChild || !shell.slept.Sleeps)
	for _, p := range children {
		runs = runs || waits == program.MayWait && !p.Untouched && l.survives(l.living[p.PID], l.deliver)
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
	if waits == program.MayWait && m.slept.Stack != 0 && m.Call.Stack != m.slept.Stack {
		return program.NotWaiting
	}
	return waits
}
