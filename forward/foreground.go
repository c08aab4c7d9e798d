package forward

import (
	"slices"

	"drainit/internal/proc"
	"drainit/internal/program"
)

// This file has which of its children a shell waits for: its trap can't run before they have ended.

// foreground has the children that a shell waits for before its trap runs, none if the trap can run now.
// Unless it is certain, the shell possibly does not wait for them.
type foreground struct {
	these   []*proc.Process
	certain bool
	last    []*proc.Process // what it started last, whether it waits or not (program.Foreground)
}

// foregroundOf returns the foreground of a shell. A step finds it once: a shell may have thousands of
// children, and each of them is asked about.
func (s *step) foregroundOf(shell *record) foreground {
	f, found := s.foregrounds[shell]
	if !found {
		f.last = program.Foreground(s.shown, s.shown.Children(shell.PID))
		f.these, f.certain = s.blockingTrap(shell, f.last)
		s.foregrounds[shell] = f
	}
	return f
}

// waitsFor returns whether a shell that the signal has reached waits for the process below it, its child. In
// the calls that is true for each child while the shell waits for any, but for what is in the background of
// one that only may wait.
func (s *step) waitsFor(up, below *record) program.Waiting {
	if up.kind != program.Shell || !s.hadTime(up) {
		return program.NotWaiting
	}
	switch f := s.foregroundOf(up); {
	case slices.ContainsFunc(f.these, below.is) && f.certain:
		return program.Waits
	case slices.ContainsFunc(f.these, below.is):
		return program.MayWait
	case s.Purpose >= LastCall && !s.hasStarted(up) &&
		(mayWait(up, below) || up.stillWaits() == program.Waits):
		return program.MayWait
	}
	return program.NotWaiting
}

// mayBeForeground reports whether a shell may wait for its child below, which no mark shows to be in the
// foreground or the background.
func (s *step) mayBeForeground(up, below *record) bool {
	return mayWait(up, below) && slices.ContainsFunc(s.foregroundOf(up).last, below.is)
}

// holdsUpTrap reports whether a shell that was signalled waits for m, a program that does no work and does
// not end before the last call. No process reads what it writes. Without it the trap can run.
func (s *step) holdsUpTrap(m *record) bool {
	isIdle := program.IdlesUntil(&m.Process, s.CallAt) && !s.shown.IsRead(m.PID)
	return isIdle && m.parent.hasTrap() && s.waitsFor(m.parent, m) != program.NotWaiting
}

// mayWait reports whether a shell may wait for its child below in its foreground.
func mayWait(up, below *record) bool {
	return up.stillWaits() == program.MayWait && !program.InBackground(&below.Process, &up.Process)
}

// blockingTrap returns the children that a shell must wait for before its trap runs, and none if the trap can
// run. certain says that the shell surely waits for them: their marks show it (program.InForeground), or a
// dash or busybox waits in wait4(2). Any other shell is a guess: it counts as waiting while it has all its
// children and none of them was signalled, since its trap may signal one after the other. Wrong if the shell
// has started a process since, so that its trap runs. last is what the shell started last.
func (h *History) blockingTrap(shell *record, last []*proc.Process) (these []*proc.Process, certain bool) {
	children := h.shown.Children(shell.PID)
	if h.hasStarted(shell) || program.WaitingOf(&shell.Process) == program.NotWaiting {
		return nil, false
	}
	for _, p := range children {
		if !shell.lostChild && program.InForeground(h.shown, p, &shell.Process) {
			these = append(these, p)
		}
	}
	waits := shell.stillWaits()
	mayWait := waits == program.MayWait
	runs := waits == program.NotWaiting || mayWait && (shell.lostChild || !shell.firstCall.Sleeps)
	for _, p := range children {
		runs = runs || mayWait && !p.Untouched && !h.wouldBeDead(h.living[p.PID])
	}
	if len(these) == 1 || runs {
		return these, true
	}
	these = slices.DeleteFunc(slices.Clone(last), func(p *proc.Process) bool {
		return program.InBackground(p, &shell.Process)
	})
	return these, waits == program.Waits && !shell.lostChild
}

// hasStarted reports whether a process has a child that it has started in the stop.
func (h *History) hasStarted(m *record) bool { return m.lastForked == h.snapshots }

// stillWaits returns how surely a shell still waits for the command that it waited for at first. Its stack is
// the same as long as it waits for one command. The stack is mostly another once a trap has run: the shell
// waits for the next command from another depth, or from within its trap.
func (m *record) stillWaits() program.Waiting {
	waits := program.WaitingOf(&m.Process)
	if waits == program.MayWait && m.Call.Stack != m.firstCall.Stack {
		return program.NotWaiting
	}
	return waits
}
