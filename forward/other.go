package forward

import (
	"maps"
	"slices"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// planQuiet never freezes a process: the signal goes to those that handle it and were
// not sent it, whatever the mode.
func (l *Ledger) planQuiet(r Request, s *proc.Snapshot) {
	for _, p := range l.Handlers(r, s) {
		if !l.IsQuieted(p.ID) {
			l.plan = append(l.plan, Delivery{Process: p, Signal: r.Signal, Child: p.PPID == l.self, OnlyIfHandled: true})
		}
	}
}

// planResume takes back what quiet did, from those that were sent it. It goes by their
// start times: each may have ended, and another have its pid.
func (l *Ledger) planResume(r Request) {
	byPID := func(a, b proc.Process) int { return a.PID - b.PID }
	for _, p := range slices.SortedFunc(maps.Values(l.quieted), byPID) {
		l.plan = append(l.plan, Delivery{Process: p, Signal: r.Signal, Child: p.PID == r.Worker.PID && !r.Worker.Gone})
	}
}

// planOther is for a signal that means nothing to drainit. By mode auto the first that handles it on
// each way down from a worker gets it; the worker itself where none does, unless that would stop it.
func (l *Ledger) planOther(r Request, s *proc.Snapshot) {
	onlyIfHandled := signals.StopsByDefault(r.Signal)
	switch {
	case r.Worker.Gone && !r.Worker.Daemonizes:
		return
	case !r.Worker.Gone && r.Mode != ModeAuto && !onlyIfHandled:
		worker := l.toWorker(r, s)
		if r.Mode == ModeGroup {
			worker.Target = ToGroup
		}
		l.plan = []Delivery{worker}
		return
	}
	for _, root := range l.workers(r, s) {
		to, why := l.handlers(r, s, root), "the first that handles it"
		if len(to) == 0 && !onlyIfHandled {
			to, why = []proc.Process{root}, "no process handles it"
		}
		for _, p := range to {
			l.plan = append(l.plan, Delivery{Process: p, Signal: r.Signal, Child: p.PPID == l.self, Rule: why})
		}
	}
}

// workers are the worker, or what a worker that has gone left.
func (l *Ledger) workers(r Request, s *proc.Snapshot) []proc.Process {
	if !r.Worker.Gone {
		return []proc.Process{l.toWorker(r, s).Process}
	}
	return copies(s.Children(l.self))
}

func copies(these []*proc.Process) (all []proc.Process) {
	for _, p := range these {
		all = append(all, *p)
	}
	return all
}

// Handlers are the processes that a signal goes to because they handle it: by mode the
// first on each way down from the worker, or from what a worker that has gone left; the
// worker; or the members of its group. Quiet goes to the first, whatever the mode.
func (l *Ledger) Handlers(r Request, s *proc.Snapshot) (all []proc.Process) {
	for _, root := range l.workers(r, s) {
		all = append(all, l.handlers(r, s, root)...)
	}
	return all
}

func (l *Ledger) handlers(r Request, s *proc.Snapshot, root proc.Process) []proc.Process {
	handles := func(p proc.Process) bool { return p.Handles(r.Signal) }
	switch {
	case r.Worker.Gone || r.Mode == ModeAuto || r.Purpose == Quiet:
		return s.Nearest(root.PID, handles)
	case r.Mode == ModeWorker && handles(root):
		return []proc.Process{root}
	case r.Mode == ModeGroup:
		return slices.DeleteFunc(copies(s.Group(root.PID)), func(p proc.Process) bool { return !handles(p) })
	}
	return nil
}
