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
// One that runs takes it yet, and one in the kernel (state D) when it is back: with a handler it may
// pass it on then. A handler may ignore or block the signal from then on, and have passed it on: so what
// a process does now proves nothing if it had a handler at any snapshot, unless it has not run since.
func deafFor(m *record, sig unix.Signal) string {
	hadHandler := m.handled.Has(sig)
	switch {
	case m.Pending.Has(sig) && (m.State == 'S' && (m.Slept || !hadHandler) || m.State == 'D' && !hadHandler):
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
		why, these, uncertain := deafFor(m, sig), l.shown.Children(m.PID), m.sent == nil
		if why == "" {
			if these = nil; m.kind == program.Shell && handled {
				these = l.blockingTrap(m)
			}
			// Once a child has gone, the trap may have run while the snapshot was taken.
			why, uncertain = "waits for it", uncertain || m.lostChild || program.WaitingOf(&m.Process) != program.Waits
			// A child without a handler may end within moments, and is given a second.
			if m.sent != nil && len(these) > 0 && (these[0].Handles(sig) || l.now >= m.sent.tick+aSecond) {
				l.BlockedTraps = append(l.BlockedTraps, BlockedTrap{m.Process, *these[0]})
			}
		}
		l.pass(these, "below "+m.String()+", which "+why, uncertain)
	}
}

// blockingTrap are the children that a shell waits for before it can run its trap. For dash and busybox
// that is certain (program.Waits). Any other counts as waiting as long as it has all its children and none was
// signalled: a trap may signal one after the other. One that has started something since runs its trap.
func (l *Ledger) blockingTrap(shell *record) []*proc.Process {
	waits := shell.waitsFor()
	runs := waits == program.NotWaiting || waits == program.MayWait && (shell.lostChild || !shell.slept.Sleeps)
	for _, p := range l.shown.Children(shell.PID) {
		child := l.living[p.PID]
		runs = runs || child == nil || child.first > 1 || waits == program.MayWait && !p.Untouched && l.survives(child, l.deliver)
	}
	if runs {
		return nil
	}
	these := program.Foreground(l.shown, l.shown.Children(shell.PID))
	return slices.DeleteFunc(these, func(p *proc.Process) bool { return program.InBackground(p, &shell.Process) })
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
