package forward

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// planQuiet plans the quiet signal (TSTP, unless rewritten), whatever the mode. On each branch below the
// worker, the first process that handles the signal is sent it, once. A process without a handler, which TSTP
// would freeze, is never sent it.
func (s *step) planQuiet(shown *proc.Snapshot) {
	for _, p := range s.Handlers(s.Request, shown) {
		if _, sent := s.quieted[p.ID]; !sent {
			s.add(Delivery{Process: p, Signal: s.Signal, Child: p.PPID == s.self, OnlyIfHandled: true})
		}
	}
}

// planResume plans the signal that takes back the quiet signal, for each process that was sent that and
// lives. shown has these processes as they are now. A process stays quieted, and is reported, if the signal
// would do nothing: the process has no handler for it, and is not a stopped one that CONT would continue.
func (s *step) planResume(shown *proc.Snapshot) {
	for _, p := range s.Quieted() {
		now, _ := shown.Process(p.PID)
		lives, continues := now.ID == p.ID && now.Alive(), now.Stopped() && s.Signal == unix.SIGCONT
		if lives && !now.Handles(s.Signal) && !continues {
			s.Unsignalled = append(s.Unsignalled, Unsignalled{Processes: []*proc.Process{&now}})
			continue
		}
		if lives {
			s.add(Delivery{Process: p, Signal: s.Signal, Child: p.PID == s.pid && !s.gone})
		}
		delete(s.quieted, p.ID) // it may be quieted again
	}
}

// Quieted returns the processes that were sent the quiet signal, and were not resumed since, by their pids.
func (h *History) Quieted() []proc.Process {
	return slices.SortedFunc(maps.Values(h.quieted), func(a, b proc.Process) int { return a.PID - b.PID })
}

// IsQuieted reports whether a process was sent the quiet signal, and was not resumed since.
func (h *History) IsQuieted(p proc.Process) bool {
	_, quieted := h.quieted[p.ID]
	return quieted
}

// planPassThrough plans a signal to which drainit does not react. In mode auto, the first process that
// handles it on each way down from the worker gets it. If none handles it, the worker gets it. In mode group,
// the worker's group gets it, and in the other modes the worker. A signal that stops a process by default
// goes to its handlers alone, whatever the mode. If the worker has gone, what it left is treated as in mode
// auto if that does its work (daemonizes), and gets nothing otherwise.
func (s *step) planPassThrough(shown *proc.Snapshot) {
	r := s.Request
	stops := signals.StopsByDefault(r.Signal)
	switch worker := s.toWorker(r.Signal, shown); {
	case s.gone && !s.daemonizes:
	case stops || s.gone || r.Mode <= ModeHandlers:
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

// MeansStop reports whether sig, a signal that would end a process, is meant as the stop signal (stop). That
// is so if no process below drainit (self) handles sig, one would die of it, and one handles stop. A shell
// that ignores QUIT, as each does by itself, counts as one that dies. A handler that can only be a language
// runtime's own does not count. ABRT never means the stop: systemd's watchdog sends it to kill.
func MeansStop(self int, sig, stop unix.Signal, s *proc.Snapshot) bool {
	dies, drains := false, false
	for _, p := range s.Descendants(self) {
		isRuntimes, isShell := program.HandlerIsRuntimes(p, sig), program.Of(p) == program.Shell
		if p.Handles(sig) && !isRuntimes && !(isShell && sig == unix.SIGINT) {
			return false
		}
		dies = dies || isRuntimes || p.On(sig) == proc.Dies || isShell && sig == unix.SIGQUIT
		drains = drains || p.Handles(stop) && !program.HandlesWithoutTrap(p)
	}
	return dies && drains && sig != stop && sig != unix.SIGABRT && signals.EndsByDefault(sig)
}

// workers returns the worker, or what a worker that has gone left.
func (h *History) workers(s *proc.Snapshot) []proc.Process {
	if !h.gone {
		return []proc.Process{h.toWorker(0, s).Process}
	}
	return copies(s.Children(h.self))
}

func copies(these []*proc.Process) (all []proc.Process) {
	for _, p := range these {
		all = append(all, *p)
	}
	return all
}

// Handlers returns the first processes that handle the request's signal on each way down from the worker. If
// the worker has gone, the ways begin at the processes that it left.
func (h *History) Handlers(r Request, s *proc.Snapshot) (all []proc.Process) {
	for _, root := range h.workers(s) {
		all = append(all, nearest(r, s, root)...)
	}
	return all
}

func nearest(r Request, s *proc.Snapshot, root proc.Process) []proc.Process {
	return program.Nearest(s, root.PID, func(p proc.Process) bool { return p.Handles(r.Signal) })
}
