package supervisor

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/journal"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/worker"
	"drainit/reaper"
)

// How many children one call of reap waits for: reapBatch if a stop signal is to be taken (some
// milliseconds), otherwise reapMost. More calls would cost more snapshots.
const (
	reapBatch = 256
	reapMost  = 1024
)

// reap waits for the children that have changed state. Then it steps the machine at most once: by
// NothingLeft, by WorkerExited if the worker has ended, or by ChildExited if only others have.
func (s *Supervisor) reap() {
	lived, ended := !s.worker.Gone(), false
	if lived && s.sys.HasExited(s.worker.PID) {
		_, _ = s.readWorker() // its name, which is gone after wait4
	}
	for n := 0; ; n++ {
		if n == reapMost || n >= reapBatch && s.queue.StopPending() {
			s.queue.Put(unix.SIGCHLD) // for the rest
			break
		}
		child, ok, err := s.sys.Wait()
		if errors.Is(err, reaper.ErrNoChildren) {
			s.promote(s.history.PromoteSuccessor(true))
			s.warnGone(nil)
			s.happened(machine.NothingLeft)
			return
		}
		if err != nil {
			s.journal.Say(journal.WaitFailed, err)
		}
		if !ok {
			break
		}
		ended = ended || child.Terminated()
		s.changed(child)
	}
	switch {
	case lived && s.worker.Gone() && !s.runsOn():
		s.happened(machine.WorkerExited)
	case ended:
		s.happened(machine.ChildExited)
	}
	if s.worker.Gone() && s.job.Granted() { // what it leaves drains without the terminal
		s.job.ReturnTerminal()
	}
}

func (s *Supervisor) changed(child reaper.WaitEvent) {
	isWorker := s.worker.Is(child.PID)
	if !child.Terminated() {
		s.paused(child, isWorker)
		return
	}
	e := s.exitOf(child)
	s.warnDeath(e)
	s.history.Exited(child.PID, child.Status)
	s.journal.Note(e.String(), proc.ID{PID: e.PID})
	if p, ok := s.history.Start.Process(child.PID); ok {
		s.journal.Say(journal.ChildEnded, p, e, e.TermSignal())
	}
	s.worker.Kill.Ended(child)
	if isWorker {
		s.recordExit(e)
		usual := e.By == 0 || s.worker.Kill.Happened() || s.job.Known(e.By)
		if !usual && !s.warnEach(s.machine.Requested() || s.queue.StopPending()) {
			s.journal.DiedOf(s.cfg.Rewrites.Before(e.By))
		}
	}
}

// exitOf returns how a child has ended, and by what. There may be thousands that have exited with 0.
func (s *Supervisor) exitOf(child reaper.WaitEvent) worker.Exit {
	e := worker.Exit{WaitEvent: child, At: time.Now()}
	if child.Status != 0 {
		e.Cause = s.history.Cause(child.PID, child.Status, s.sys.Ticks())
	}
	if e.IsSent() && e.Tick == 0 { // by the platform
		e.After = e.At.Sub(s.machine.RequestedAt())
	}
	return e
}

// paused notes a child that was stopped or continued.
func (s *Supervisor) paused(child reaper.WaitEvent, isWorker bool) {
	stopped := child.Status.Stopped()
	switch {
	case stopped && child.Status.StopSignal() == unix.SIGTSTP && s.unfreeze(child.PID), !isWorker:
	case s.job == nil:
		s.worker.Stopped = stopped
		if stopped && s.machine.Phase() < machine.Draining { // a stop continues it
			s.journal.Once(journal.WorkerPaused, s.worker.PID)
		}
		s.publish()
	case s.machine.Phase() != machine.Killing:
		s.job.WorkerPaused(child.Status)
	}
}

// runsOn reports whether a worker that has exited goes on in the processes that it left (--forking). Without
// /proc it does not, since no signal could reach them.
func (s *Supervisor) runsOn() bool {
	if !s.cfg.Forking || s.worker.Exit.ExitStatus() != 0 || s.machine.Phase() >= machine.Draining {
		return false
	}
	all, err := s.sys.All()
	if errors.Is(err, proc.ErrNoProc) {
		s.journal.Once(journal.LeftUnknown, err)
		return false
	}
	s.worker.Daemonized = true
	// A snapshot may miss one that is just being forked. If nothing is left, the next wait4 says so.
	if left := all.Children(os.Getpid()); len(left) > 0 {
		s.journal.Daemonized(left)
	}
	return true
}

func (s *Supervisor) recordExit(e worker.Exit) {
	s.worker.Exit = &e
	s.job.RecordExit(e.TermSignal(), s.machine.StopSignal(), s.sends, e.IsSent())
}

// promote makes successor the worker. successor may have ended already. It is nil if no process takes the
// worker's place.
func (s *Supervisor) promote(successor *forward.Successor) {
	if successor == nil {
		return
	}
	s.journal.Say(journal.Successor, successor.Process)
	*s.worker = worker.Worker{
		PID: successor.PID, PGID: s.worker.PGID, Comm: successor.Comm, Kill: s.worker.Kill,
	}
	s.warnings.Worker = successor.PID
	if successor.Exit != nil {
		s.recordExit(s.exitOf(reaper.WaitEvent{PID: successor.PID, Status: *successor.Exit}))
	}
}
