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
	isCall := s.Purpose >= LastCall && !s.hasStarted(up)
	switch waits := s.waits(up, below); {
	case up.kind != program.Shell || !s.hadTime(up):
		return program.NotWaiting
	case waits == program.NotWaiting && isCall && (mayWait(up, below) || up.stillWaits() == program.Waits):
		return program.MayWait
	default:
		return waits
	}
}

// waits returns whether a shell waits for its child below.
func (s *step) waits(shell, below *record) program.Waiting {
	f := s.foregroundOf(shell)
	switch {
	case !slices.ContainsFunc(f.these, below.is):
		return program.NotWaiting
	case f.certain:
		return program.Waits
	}
	return program.MayWait
}

// sleepsOn reports whether a shell certainly waits for a sleep(1) that outlasts the grace period, so that its
// trap will not run. That sleep is not cut short: what follows it in the script would begin.
func (s *step) sleepsOn(shell *record) bool {
	f := s.foregroundOf(shell)
	return f.certain && slices.ContainsFunc(f.these, func(p *proc.Process) bool {
		until := program.IdlesUntil(p)
		return until > s.EndAt && until < program.Forever && !program.EndsWith(&shell.Process, p)
	})
}

// mayBeForeground reports whether a shell may wait for its child below, which no mark shows to be in the
// foreground or the background.
func (s *step) mayBeForeground(up, below *record) bool {
	return mayWait(up, below) && slices.ContainsFunc(s.foregroundOf(up).last, below.is)
}

// holdsUpTrap reports whether a shell that was signalled waits for m, perhaps through others, and m is to die
// of the signal, so that the trap can run. No process reads what m writes. m does nothing and never ends,
// or the script ends with it. Or it is a shell with several jobs, which may signal them itself.
func (s *step) holdsUpTrap(m *record) bool {
	if m.parent == nil || !s.isEndless(m) && !s.managesJobs(m) || s.shown.IsRead(m.PID) {
		return false
	}
	for below := m; below.parent != nil; below = below.parent {
		up := below.parent
		if up.hasTrap() {
			return s.waitsFor(up, below) != program.NotWaiting
		}
		if up.kind != program.Shell || s.waits(up, below) == program.NotWaiting {
			return false
		}
	}
	return false
}

// isEndless reports whether a process does no work and never ends, or its script ends with it. What reads
// from such a process alone does none, either.
func (s *step) isEndless(m *record) bool {
	if len(s.shown.Children(m.PID)) > 0 || m.On(s.signalFor(m)) != proc.Dies {
		return false
	}
	until := program.IdlesUntil(&m.Process)
	endsScript := until > 0 && program.EndsWith(&m.parent.Process, &m.Process)
	return until == program.Forever || endsScript || s.shown.ShowsWriters(m.PID) && !s.hasWriter(m)
}

// managesJobs reports whether a process is a shell without a trap that has jobs in its background, and one of
// its children acts upon the signal.
func (s *step) managesJobs(m *record) bool {
	children := s.shown.Children(m.PID)
	acts := func(p *proc.Process) bool { return s.living[p.PID] != nil && s.actsUpon(s.living[p.PID]) }
	isJob := func(p *proc.Process) bool { return program.InBackground(p, &m.Process) }
	return m.kind == program.Shell && len(children) > 1 && slices.ContainsFunc(children, acts) &&
		slices.ContainsFunc(children, isJob) && m.On(s.signalFor(m)) == proc.Dies
}

// hasWriter reports whether a process reads what a living one writes, which may end. A tail -f does not.
func (h *History) hasWriter(m *record) bool {
	mayEnd := func(pid int) bool {
		w, _ := h.shown.Process(pid)
		return pid != m.PID && program.IdlesUntil(&w) < program.Forever
	}
	writers := h.shown.WritersTo(m.PID)
	return h.shown.HasWriters(m.PID) && (len(writers) == 0 || slices.ContainsFunc(writers, mayEnd))
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
		return h.withAwaited(these, children, shell), true
	}
	these = slices.DeleteFunc(slices.Clone(last), func(p *proc.Process) bool {
		return program.InBackground(p, &shell.Process)
	})
	return these, waits == program.Waits && !shell.lostChild
}

// withAwaited adds to the foreground of a shell those of its children that must end before it can: they read
// what it writes, or it is a tail that waits for them.
func (h *History) withAwaited(these, children []*proc.Process, shell *record) []*proc.Process {
	for _, p := range children {
		reads := func(w *proc.Process) bool { return slices.Contains(h.shown.WritersTo(p.PID), w.PID) }
		awaits := func(w *proc.Process) bool { return program.Awaits(w) == p.PID }
		isReader := slices.ContainsFunc(these, reads) && !program.InBackground(p, &shell.Process)
		if isReader || slices.ContainsFunc(these, awaits) {
			these = append(these, p)
		}
	}
	return these
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
