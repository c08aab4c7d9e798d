package forward

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// In ticks.
const (
	actsAfter  = 5 // how long a process has to act upon a signal before it counts as deaf
	aSecond    = 100
	hadItsTime = 3 * aSecond
)

// Deaf is a process that was signalled and can't act upon it: what is below it is judged
// as if it were not there.
type Deaf struct {
	Process  proc.Process
	Why      string
	Shell    bool            // it waits for the children before it can run its trap
	Children []*proc.Process // that it would have to signal

	uncertain bool // what is below it may have been signalled
}

// notActing reports whether a process that was signalled may not act upon it.
func (l *Ledger) notActing(m *record) bool {
	sig, handled := l.reached(m)
	return !handled || m.program == Shell || m.Pending.Has(sig)
}

// reached is the signal that has reached a process, or may have, and whether it handled that.
func (l *Ledger) reached(m *record) (sig unix.Signal, handled bool) {
	if m.sent != nil {
		return m.sent.signal, m.sent.handled
	}
	sig = l.signalFor(m)
	return sig, m.handled.Has(sig)
}

// deafAtOnce is why a process that is about to be sent a signal will not act upon it; ""
// where it may.
func deafAtOnce(p *proc.Process, sig unix.Signal) string {
	switch {
	case p.Ignores(sig):
		return "ignores it"
	case p.NestedInit && !p.Handles(sig):
		return "is the first of a PID namespace and has no handler"
	}
	return ""
}

// deafNow is the same of one that was sent it some time ago. One in the kernel (state D) takes it
// when it is back, as one does that runs: with a handler it may pass it on then.
func deafNow(p *proc.Process, sig unix.Signal) string {
	if why := deafAtOnce(p, sig); why != "" {
		return why
	}
	if p.Pending.Has(sig) && (p.State == 'S' || p.State == 'D' && !p.Handles(sig)) {
		return "has not taken it"
	}
	return ""
}

// deaf are the processes of the last snapshot that were signalled some time ago and can't act upon it:
// they did not handle the signal, or have not taken it, or are shells that wait for a child first. So
// are orphans that were left alone, for another may have signalled them, and their group.
func (l *Ledger) deaf() (all []Deaf) {
	for _, p := range l.shown.Descendants(l.self) {
		m := l.living[p.PID]
		if m == nil || m.sent == nil && !m.fate.isLeft() || m.sent != nil && m.sent.tick+actsAfter > l.now || !l.notActing(m) {
			continue
		}
		sig, handled := l.reached(m)
		d := Deaf{Process: m.Process, Why: deafNow(&m.Process, sig)}
		switch {
		case d.Why != "":
			d.Children = l.shown.Children(m.PID)
		case m.program == Shell && handled:
			d.Why, d.Shell, d.Children = "waits for it", true, l.blockingTrap(m)
		}
		// Once a child has gone, the trap may have run while the snapshot was taken.
		d.uncertain = m.sent == nil || d.Shell && (m.lostChild || m.Waiting() != proc.Waits)
		if len(d.Children) > 0 {
			all = append(all, d)
		}
	}
	return all
}

// blockingTrap are the children that a shell waits for before it can run its trap. For dash
// and busybox that is certain: see proc.Waits. Of any other shell it is known only that it may
// wait, and so it counts as waiting as long as it has all its children, and it is certain that
// none was signalled: a trap that runs may signal one after the other. Once it has started
// something, or waits elsewhere than before the stop, it runs.
func (l *Ledger) blockingTrap(shell *record) []*proc.Process {
	before, waits := int32(1), l.waitsFor(shell)
	if shell.sent != nil {
		before = shell.sent.snapshot
	}
	mayRun := waits == proc.MayWait && (shell.lostChild || l.stackBefore(shell) == 0)
	for _, p := range l.shown.Children(shell.PID) {
		child := l.living[p.PID]
		if child == nil || child.first > before || waits == proc.MayWait && !p.Untouched && l.survives(child, l.deliver) {
			mayRun = true
		}
	}
	if mayRun || waits == proc.NotWaiting {
		return nil
	}
	return l.foreground(shell)
}

// foreground are the children that a shell has in its foreground, and that bear no mark of the
// background.
func (l *Ledger) foreground(shell *record) []*proc.Process {
	these := l.shown.Foreground(l.shown.Children(shell.PID))
	return slices.DeleteFunc(these, func(p *proc.Process) bool {
		child := l.living[p.PID]
		return child != nil && child.inBackgroundOf(shell)
	})
}

// stackBefore is where the stack of a shell was when the stop began; 0 where it did not sleep. It is
// the same as long as the shell waits for one command, and mostly another one when a trap has run: a
// shell waits for the next command from another depth, or from within its trap.
func (l *Ledger) stackBefore(shell *record) uint64 {
	if p, ok := l.start.Process(shell.PID); ok && p.ID == shell.ID {
		return p.Call.Stack
	}
	return 0
}

// waitsFor reports whether a shell may wait for what it waited for when the stop began.
func (l *Ledger) waitsFor(shell *record) proc.Waiting {
	waits, stack := shell.Waiting(), l.stackBefore(shell)
	if waits == proc.MayWait && stack != 0 && shell.Call.Stack != stack {
		return proc.NotWaiting
	}
	return waits
}

// BlockedTraps returns the shells of the last snapshot whose trap can't run before a child ends.
// One without a handler may do so within moments, and is given a second.
func (l *Ledger) BlockedTraps() (blocked []Deaf) {
	for _, d := range l.deaf() {
		sent := l.living[d.Process.PID].sent
		if d.Shell && sent != nil && (d.Children[0].Handles(sent.signal) || l.now >= sent.tick+aSecond) {
			blocked = append(blocked, d)
		}
	}
	return blocked
}

// Recheck returns how long until processes that have not reacted are checked again, though none
// has died; 0 for never. The longer that has not changed, the longer it is.
func (l *Ledger) Recheck() (next time.Duration) {
	for _, m := range l.living {
		if again := l.againAfter(m); again > 0 && (next == 0 || again < next) {
			next = again
		}
	}
	return next
}

// againAfter is how long one that was signalled, left alone, or held for a second may be left before
// it is checked again; 0 where what is below it does not depend on it.
func (l *Ledger) againAfter(m *record) time.Duration {
	const soon, least, most = 60 * time.Millisecond, time.Second, 5 * time.Second // soon is after actsAfter
	const tick = 10 * time.Millisecond
	switch {
	case m.sent == nil && m.heldSince != 0 && l.now < m.heldSince+aSecond:
		return soon
	case len(l.shown.Children(m.PID)) == 0, m.sent == nil && !m.fate.isLeft():
		return 0
	case m.sent == nil:
		return least
	case l.now < m.sent.tick+actsAfter:
		return soon
	case l.now < m.sent.tick+aSecond:
		return least
	case l.notActing(m):
		return min(max(time.Duration(l.now-m.sent.tick)*tick/2, least), most)
	}
	return 0
}
