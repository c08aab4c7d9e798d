package forward

import (
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// In ticks.
const (
	actsAfter = 5 // how long a process has to act upon a signal before it counts as deaf
	aSecond   = 100
)

// Deaf is a process that was signalled and can't act upon it: what is below it is judged
// as if it were not there.
type Deaf struct {
	Process proc.Process
	Why     string
	// Shell is whether it is one that waits for these before it can run its trap.
	Shell    bool
	Children []*proc.Process

	uncertain bool // what is below it may have been signalled
}

// mayBeDeaf are the pids of those that were signalled some time ago and live, though they
// did not handle the signal, or have not taken it, or are shells, which may wait for a
// child first. So are orphans that were left alone, for another may have signalled them.
func (l *Ledger) mayBeDeaf(now uint64) (pids []int) {
	var these []*record
	for _, m := range l.living {
		if (m.sent == nil && m.leftAlone || m.sent != nil && m.sent.tick+actsAfter <= now) && m.actsAt != l.snapshots && l.notActing(m) {
			these = append(these, m)
		}
	}
	sortByPID(these)
	for _, m := range these {
		pids = append(pids, m.PID)
	}
	return pids
}

// notActing reports whether a process that was signalled may not act upon it.
func (l *Ledger) notActing(m *record) bool {
	sig := l.reached(m)
	return !m.handledIt(sig) || m.program == Shell || m.Pending.Has(sig)
}

// reached is the signal that has reached a process, or may have.
func (l *Ledger) reached(m *record) unix.Signal {
	if m.sent != nil {
		return m.sent.signal
	}
	return l.signalFor(m)
}

// shellsAmong are those that are shells with a handler.
func (l *Ledger) shellsAmong(pids []int) (shells []int) {
	for _, pid := range pids {
		if m := l.living[pid]; m.program == Shell && m.handledIt(l.reached(m)) {
			shells = append(shells, pid)
		}
	}
	return shells
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

// deaf are the processes of a snapshot that were signalled and can't act upon it, with
// those of their children that they would have to signal. Where another has signalled one,
// it may have signalled its group.
func (l *Ledger) deaf(now uint64, s *proc.Snapshot) (all []Deaf) {
	for _, pid := range l.mayBeDeaf(now) {
		m := l.living[pid]
		sig := l.reached(m)
		d := Deaf{Process: m.Process, Why: deafNow(&m.Process, sig)}
		switch {
		case d.Why != "":
			d.Children = s.Children(pid)
		case m.program == Shell && m.handledIt(sig):
			d.Why, d.Shell, d.Children = "waits for it", true, l.blockingTrap(m, s)
		}
		// Once a child has gone, the trap may have run while the snapshot was taken.
		d.uncertain = m.sent == nil || d.Shell && (m.lostChild || s.WaitsInForeground(pid) != proc.Waits)
		if len(d.Children) > 0 {
			all = append(all, d)
		}
	}
	return all
}

// noteUndecided notes those that a shell may wait for, or may have signalled, once it has had
// its time for that.
func (l *Ledger) noteUndecided(now uint64, c *cascade) {
	const hadItsTime = 3 * aSecond
	for pid, m := range l.living {
		if m.program != Shell || m.sent == nil || now < m.sent.tick+hadItsTime || waitsStill(m, c.s) != proc.MayWait {
			continue
		}
		for _, p := range c.s.Foreground(c.s.Children(pid)) {
			child := l.living[p.PID]
			if child == nil || child.undecided || c.leaves(child) || !child.actsUpon(l.signalFor(child)) || inBackground(p, &m.Process) {
				continue
			}
			child.undecided = true
			l.undecided = append(l.undecided, Undecided{*p, m.Process, true})
		}
	}
}

// blockingTrap are the children that a shell waits for before it can run its trap. For dash
// and busybox that is certain: see proc.Waits. Of any other shell it is known only that it may
// wait, and so it counts as waiting as long as it has all its children, and it is certain that
// none was signalled: a trap that runs may signal one after the other. Once it has started
// something, or waits elsewhere than before the stop, it runs.
func (l *Ledger) blockingTrap(shell *record, s *proc.Snapshot) []*proc.Process {
	before, all := int32(1), s.Children(shell.PID)
	if shell.sent != nil {
		before = shell.sent.snapshot
	}
	for _, child := range all {
		if c := l.living[child.PID]; c == nil || c.first > before {
			return nil
		}
	}
	switch waits := waitsStill(shell, s); {
	case waits == proc.NotWaiting, waits == proc.MayWait && (shell.stack == 0 || shell.lostChild || len(l.unsignalled(all, s)) < len(all)):
		return nil
	}
	return slices.DeleteFunc(s.Foreground(all), func(p *proc.Process) bool { return inBackground(p, &shell.Process) })
}

// waitsStill reports whether a shell may wait for what it waited for when the stop began.
func waitsStill(shell *record, s *proc.Snapshot) proc.Waiting {
	waits := s.WaitsInForeground(shell.PID)
	if waits == proc.MayWait && shell.stack != 0 && s.Stack(shell.PID) != shell.stack {
		return proc.NotWaiting
	}
	return waits
}

// mayWait reports whether a shell with a trap may wait for a child before it runs that, for this
// one or for another: one of them does not show that it is in the background.
func mayWait(shell, child *record, s *proc.Snapshot) bool {
	switch waitsStill(shell, s) {
	case proc.Waits:
		return true
	case proc.MayWait:
		these := append(s.Foreground(s.Children(shell.PID)), &child.Process)
		return slices.ContainsFunc(these, func(p *proc.Process) bool { return !inBackground(p, &shell.Process) })
	}
	return false
}

// BlockedTraps returns the shells of a snapshot whose trap can't run before a child ends.
// One without a handler may do so within moments, and is given a second.
func (l *Ledger) BlockedTraps(now uint64, s *proc.Snapshot) (blocked []Deaf) {
	for _, d := range l.deaf(now, s) {
		sent := l.living[d.Process.PID].sent
		if d.Shell && sent != nil && (d.Children[0].Handles(sent.signal) || now >= sent.tick+aSecond) {
			blocked = append(blocked, d)
		}
	}
	return blocked
}
