package supervisor

import (
	"errors"
	"os"
	"slices"
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
	s.warnDeath(child)
	s.history.Exited(child.PID, child.Status)
	s.journal.Ended(worker.Exit{WaitEvent: child})
	if p, ok := s.history.Start.Process(child.PID); ok {
		s.journal.Say(journal.ChildEnded, p, worker.Exit{WaitEvent: child})
	}
	s.atWork = slices.DeleteFunc(s.atWork, func(p proc.Process) bool { return p.PID == child.PID })
	by := child.TermSignal()
	if by == unix.SIGKILL && s.worker.Kill.Began() && !s.worker.Kill.Happened() { // /proc did not show it
		s.worker.Kill.Unread = true
	}
	if isWorker {
		s.recordExit(child)
		usual := by == 0 || s.worker.Kill.Happened() || s.job.Known(by)
		if !usual && !s.warnEach(s.machine.Requested() || s.queue.StopPending()) {
			s.journal.DiedOf(by, s.cfg.Rewrites.Before(by))
		}
	}
}

// paused notes a child that was stopped or continued.
func (s *Supervisor) paused(child reaper.WaitEvent, isWorker bool) {
	stopped := child.Status.Stopped()
	switch {
	case stopped && child.Status.StopSignal() == unix.SIGTSTP && s.unfreeze(child.PID), !isWorker:
	case s.job == nil:
		s.worker.Stopped = stopped
		if stopped && s.machine.Phase() < machine.Draining { // a stop continues it
			s.journal.Once(journal.WorkerPaused, s.worker, s.worker.PID)
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

func (s *Supervisor) recordExit(child reaper.WaitEvent) {
	s.worker.Exit = &worker.Exit{WaitEvent: child, At: time.Now()}
	_, sent := s.history.Got(child.TermSignal())
	s.job.RecordExit(child.TermSignal(), s.machine.StopSignal(), s.sends, sent)
}

// promote makes successor the worker. successor may have ended already. It is nil if no process takes the
// worker's place.
func (s *Supervisor) promote(successor *forward.Successor) {
	if successor == nil {
		return
	}
	s.journal.Say(journal.Successor, s.worker, s.worker.Exit, successor.Process, journal.WorkersEnd)
	*s.worker = worker.Worker{
		PID: successor.PID, PGID: s.worker.PGID, Comm: successor.Comm, Kill: s.worker.Kill,
	}
	if successor.Exit != nil {
		s.recordExit(reaper.WaitEvent{PID: successor.PID, Status: *successor.Exit})
	}
}
