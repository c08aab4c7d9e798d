package forward

import (
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
)

// actsAfter is how long a process has to act upon a signal before it counts as deaf, in ticks.
const actsAfter, aSecond = 5, 100

// Deaf is a process that was signalled and can't act upon it: what is below it is judged
// as if it were not there.
type Deaf struct {
	Process  proc.Process
	Why      string
	Shell    bool            // it waits for the children before it can run its trap
	Children []*proc.Process // that it would have to signal

	uncertain bool // what is below it may have been signalled
}

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
	return !handled || m.kind == program.Shell || m.Pending.Has(sig)
}

// deafFor is why a process that was sent a signal some time ago does not act upon it; "" where it may.
// One that runs takes it yet, and one in the kernel (state D) when it is back: with a handler it may
// pass it on then.
func deafFor(p *proc.Process, sig unix.Signal) string {
	switch {
	case p.Pending.Has(sig) && (p.State == 'S' || p.State == 'D' && !p.Handles(sig)):
		return "has not taken it"
	case p.Ignores(sig):
		return "ignores it"
	case p.NestedInit && !p.Handles(sig):
		return "is the first of a PID namespace and has no handler"
	}
	return ""
}

// deaf are the processes that were signalled some time ago and can't act upon it: they ignore the signal,
// or have not taken it, or are shells that wait for a child first. Orphans that were left alone count,
// for another may have signalled them.
func (l *Ledger) deaf() (all []Deaf) {
	for _, m := range l.shownNow() {
		sig, handled, hadTime := l.reached(m)
		if !hadTime || !l.notActing(m) {
			continue
		}
		d := Deaf{Process: m.Process, Why: deafFor(&m.Process, sig), Children: l.shown.Children(m.PID)}
		if d.Why == "" {
			d.Why, d.Shell, d.Children = "waits for it", true, nil
			if m.kind == program.Shell && handled {
				d.Children = l.blockingTrap(m)
			}
		}
		// Once a child has gone, the trap may have run while the snapshot was taken.
		d.uncertain = m.sent == nil || d.Shell && (m.lostChild || m.Waiting() != proc.Waits)
		if len(d.Children) > 0 {
			all = append(all, d)
		}
	}
	return all
}

// blockingTrap are the children that a shell waits for before it can run its trap. For dash and busybox
// that is certain (proc.Waits). Any other counts as waiting as long as it has all its children and none was
// signalled: a trap may signal one after the other. One that has started something since runs its trap.
func (l *Ledger) blockingTrap(shell *record) []*proc.Process {
	waits := shell.waitsFor()
	runs := waits == proc.NotWaiting || waits == proc.MayWait && (shell.lostChild || shell.stack == 0)
	for _, p := range l.shown.Children(shell.PID) {
		child := l.living[p.PID]
		runs = runs || child == nil || child.first > 1 || waits == proc.MayWait && !p.Untouched && l.survives(child, l.deliver)
	}
	if runs {
		return nil
	}
	return l.foreground(shell)
}

// foreground are the children that a shell has in its foreground, without those that bear the mark
// of the background.
func (l *Ledger) foreground(shell *record) []*proc.Process {
	these := l.shown.Foreground(l.shown.Children(shell.PID))
	return slices.DeleteFunc(these, func(p *proc.Process) bool { return program.InBackground(p, &shell.Process) })
}

// waitsFor reports whether a shell may wait for what it waited for at first. Its stack is
// the same as long as it waits for one command, and mostly another one when a trap has run: it waits
// for the next command from another depth, or from within its trap.
func (m *record) waitsFor() proc.Waiting {
	waits := m.Waiting()
	if waits == proc.MayWait && m.stack != 0 && m.Call.Stack != m.stack {
		return proc.NotWaiting
	}
	return waits
}

// BlockedTraps returns the shells of the last plan whose trap can't run before a child ends.
func (l *Ledger) BlockedTraps() []Deaf { return l.blockedTraps }

// blocksTrap reports whether a shell that drainit signalled can't run its trap before a child ends.
// One without a handler may do so within moments, and is given a second.
func (l *Ledger) blocksTrap(d Deaf) bool {
	sent := l.living[d.Process.PID].sent
	return d.Shell && sent != nil && (d.Children[0].Handles(sent.signal) || l.now >= sent.tick+aSecond)
}
