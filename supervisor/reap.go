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
	"drainit/internal/signals"
	"drainit/internal/worker"
	"drainit/reaper"
)

// How many children are waited for before a stop signal is taken (some milliseconds), and before any other
// event is: each batch costs a snapshot.
const (
	reapBatch = 256
	reapMost  = 1024
)

// reap waits for the children that have changed, and then steps the machine once: by NothingLeft, by the end
// of the worker, or by that of others.
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
			s.promote(s.ledger.PromoteLast())
			s.step(time.Now(), machine.Event{Kind: machine.NothingLeft})
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
		s.step(time.Now(), machine.Event{Kind: machine.WorkerExited})
	case ended:
		s.step(time.Now(), machine.Event{Kind: machine.ChildExited})
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
	s.ledger.Exited(child.PID, child.Status)
	s.journal.Ended(worker.Exit{WaitEvent: child})
	s.cfg.Record.ended(child, time.Since(s.journal.StopBegan()))
	s.warnDeath(child)
	by := child.TermSignal()
	_, requested := s.machine.Requested()
	if by == unix.SIGKILL && s.worker.Kill.Began() && !s.worker.Kill.Happened() { // /proc did not show it
		s.worker.Kill.Unseen = true
	}
	switch {
	case isWorker:
		s.recordExit(child)
		if by != 0 && !s.worker.Kill.Happened() && !s.job.Known(by) && !s.warnEach(requested || s.queue.StopPending()) {
			s.journal.DiedOf(by)
		}
	case s.cfg.WarnReaped:
		s.journal.Reaped(child)
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

// runsOn reports whether a worker that has exited runs on in what it left, by --forking. Without /proc it
// does not, since no signal could reach that.
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
	// A snapshot may miss one that is just being forked. If nothing is left, the next wait4 tells.
	if left := all.Children(os.Getpid()); len(left) > 0 {
		s.journal.Daemonized(left)
	}
	return true
}

func (s *Supervisor) recordExit(child reaper.WaitEvent) {
	s.worker.Exit = &worker.Exit{WaitEvent: child, At: time.Now()}
	stop := s.machine.StopSignal()
	s.job.RecordExit(child.TermSignal(), stop, s.cfg.Rewrites.Apply(stop), s.worker.Sent)
}

// promote makes the worker's successor the worker, if there is one, though it may have ended.
func (s *Supervisor) promote(successor *forward.Successor) {
	if successor == nil {
		return
	}
	s.journal.Successor(successor.Process)
	*s.worker = worker.Worker{PID: successor.PID, PGID: s.worker.PGID, Comm: successor.Comm, Sent: signals.SetOf(successor.Sent), Kill: s.worker.Kill}
	if successor.Exit != nil {
		s.recordExit(reaper.WaitEvent{PID: successor.PID, Status: *successor.Exit})
	}
}
