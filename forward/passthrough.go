package forward

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// planQuiet never freezes a process: the signal goes to those that handle it and were
// not sent it, whatever the mode.
func (s *step) planQuiet(shown *proc.Snapshot) {
	for _, p := range s.Handlers(s.Request, shown) {
		if _, sent := s.Quieted[p.ID]; !sent {
			s.add(Delivery{Process: p, Signal: s.Signal, Child: p.PPID == s.self, OnlyIfHandled: true})
		}
	}
}

// planResume takes back what quiet did, from those that were sent it. It goes by their
// start times: each may have ended, and another have its pid.
func (s *step) planResume() {
	byPID := func(a, b proc.Process) int { return a.PID - b.PID }
	for _, p := range slices.SortedFunc(maps.Values(s.Quieted), byPID) {
		s.add(Delivery{Process: p, Signal: s.Signal, Child: p.PID == s.pid && !s.gone})
	}
}

// planPassThrough is for a signal that means nothing to drainit. By mode auto the first that handles it on each
// way down from a worker gets it, and the worker itself where none does. One that would stop a process
// goes to its handlers alone, whatever the mode.
func (s *step) planPassThrough(shown *proc.Snapshot) {
	r := s.Request
	stops := signals.StopsByDefault(r.Signal)
	switch worker := s.toWorker(r.Signal, shown); {
	case s.gone && !s.daemonizes:
	case stops || s.gone || r.Mode == ModeAuto:
		for _, root := range s.workers(shown) {
			to, why := nearest(r, shown, root), "the first that handles it"
			if len(to) == 0 && !stops {
				to, why = []proc.Process{root}, "no process handles it"
			}
			for _, p := range to {
				s.add(Delivery{Process: p, Signal: r.Signal, Child: p.PPID == s.self, Rule: why})
			}
		}
	case r.Mode == ModeGroup:
		worker.Target = ToGroup
		fallthrough
	default:
		s.add(worker)
	}
}

// MeansStop reports whether a signal that would end a process is meant as the stop signal: no process below drainit
// handles it, and one handles the stop signal. A handler that may be the runtime's own counts only if the user has
// named the signal as a stop signal (named). ABRT never means the stop: systemd's watchdog sends it to kill.
func MeansStop(self int, sig, stop unix.Signal, named bool, s *proc.Snapshot) bool {
	dies, drains := false, false
	for _, p := range s.Descendants(self) {
		runtimes, isShell := !named && program.MayBeRuntimes(p, sig), program.Of(p) == program.Shell
		if p.Handles(sig) && !runtimes && !(isShell && sig == unix.SIGINT) {
			return false
		}
		dies = dies || runtimes || p.On(sig) == proc.Dies
		drains = drains || p.Handles(stop) && !program.HandlesWithoutTrap(p)
	}
	return dies && drains && sig != stop && sig != unix.SIGABRT && signals.EndsByDefault(sig)
}

// workers are the worker, or what a worker that has gone left.
func (l *Ledger) workers(s *proc.Snapshot) []proc.Process {
	if !l.gone {
		return []proc.Process{l.toWorker(0, s).Process}
	}
	return copies(s.Children(l.self))
}

func copies(these []*proc.Process) (all []proc.Process) {
	for _, p := range these {
		all = append(all, *p)
	}
	return all
}

// Handlers returns the first processes that handle a signal on each way down from the worker. If the worker has
// gone, the ways begin at the processes that it left.
func (l *Ledger) Handlers(r Request, s *proc.Snapshot) (all []proc.Process) {
	for _, root := range l.workers(s) {
		all = append(all, nearest(r, s, root)...)
	}
	return all
}

func nearest(r Request, s *proc.Snapshot, root proc.Process) []proc.Process {
	return program.Nearest(s, root.PID, func(p proc.Process) bool { return p.Handles(r.Signal) })
}
