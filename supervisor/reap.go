package supervisor

import (
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
	"drainit/internal/phase"
	"drainit/internal/proc"
	"drainit/internal/worker"
	"drainit/reaper"
)

// changed notes what became of one child. ok is false where the machine need
// not know.
func (s *Supervisor) changed(child reaper.WaitEvent) (e machine.Event, ok bool) {
	if !child.Terminated() {
		s.paused(child)
		return machine.Event{}, false
	}
	s.ledger.Exited(child.PID, child.Status)
	s.warnDeath(child)
	if child.TermSignal() == unix.SIGKILL && s.killed.Why != "" && !s.killed.Any { // /proc did not show it
		s.killed.Unseen()
	}
	if child.PID != s.worker.PID || s.worker.Gone() {
		if s.cfg.WarnReaped {
			s.journal.Reaped(child)
		}
		return machine.Event{Kind: machine.ChildExited}, true
	}
	return s.workerExited(child), true
}

// paused notes a child that was stopped or continued.
func (s *Supervisor) paused(child reaper.WaitEvent) {
	stopped := child.Status.Stopped()
	if stopped && child.Status.StopSignal() == unix.SIGTSTP && s.unfreeze(child.PID) {
		return
	}
	if child.PID != s.worker.PID || s.worker.Gone() {
		return
	}
	switch {
	case s.job == nil:
		s.workerStopped(stopped)
	case s.machine.Phase() != phase.Killing:
		s.job.WorkerPaused(child.Status)
	}
}

// workerStopped is for a worker that something other than drainit stops or continues:
// stopped, it is alive and does nothing.
func (s *Supervisor) workerStopped(is bool) {
	s.worker.Stopped = is
	if is && s.machine.Phase() < phase.Draining { // a stop continues it
		s.journal.WorkerStopped()
	}
	s.publish()
}

// recordExit notes how the worker ended.
func (s *Supervisor) recordExit(child reaper.WaitEvent) {
	s.worker.Exit = &worker.Exit{WaitEvent: child, At: time.Now()}
	stop := s.machine.StopSignal()
	s.job.RecordExit(child.TermSignal(), stop, s.cfg.Rewrites.Apply(stop), s.worker.Sent)
}

// nameDying reads the worker's name once more if it has ended: it may have become another
// program since, and after wait4 there is none to be asked.
func (s *Supervisor) nameDying() {
	if !s.worker.Gone() && s.sys.HasExited(s.worker.PID) {
		s.readWorker()
	}
}

func (s *Supervisor) workerExited(child reaper.WaitEvent) machine.Event {
	s.recordExit(child)
	switch by := child.TermSignal(); {
	case by == 0 || s.killed.Any || s.job.Known(by):
	case !s.worker.Sent.Has(by):
		s.journal.KilledFromOutside(by)
	case s.worker.Forwarded.Has(by):
		s.journal.KilledByForwarded(by)
	}
	if s.cfg.Forking && s.worker.Exit.ExitStatus() == 0 {
		return machine.Event{Kind: machine.WorkerDaemonized}
	}
	return machine.Event{Kind: machine.WorkerExited}
}

// jobOwner is the supervisor as its job sees it.
type jobOwner struct{ s *Supervisor }

func (o jobOwner) MaySuspend() bool {
	now := o.s.machine.Phase()
	return (now == phase.Running || now == phase.Quiet) && !o.s.worker.Gone()
}

func (o jobOwner) Members(pgid int) []*proc.Process {
	all, _ := o.s.sys.All()
	return all.Group(pgid)
}

func (o jobOwner) SignalGroup(sig unix.Signal) error { return o.s.signalGroup(sig) }
