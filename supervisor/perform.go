package supervisor

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/journal"
	"drainit/internal/machine"
	"drainit/internal/phase"
	"drainit/internal/proc"
	"drainit/internal/title"
)

// perform does one thing that the machine said.
func (s *Supervisor) perform(now time.Time, a machine.Action) {
	switch a.Kind {
	case machine.SignalWorker:
		s.signalWorker(a.Signal)
	case machine.SignalOrphans:
		s.signalOrphans(forward.Orphans)
	case machine.LastCall:
		s.signalOrphans(forward.LastCall)
	case machine.FinalCall:
		s.signalOrphans(forward.FinalCall)
	case machine.Inspect:
		s.inspect()
	case machine.QuietWorker:
		s.quiet()
	case machine.ResumeWorker:
		s.resume()
	case machine.PassThrough:
		s.passThrough(a.Signal)
	case machine.KillTree:
		s.killTree()
	case machine.AnnounceDrain:
		s.publishStop()
		s.journal.Draining(now, a.Signal, s.job != nil && !s.cfg.SecondStopIgnored)
	case machine.AnnounceExit:
		s.publishStop()
		left := s.left()
		s.journal.Exited(now, left, s.mayFork(left.All))
	case machine.AnnounceOver, machine.AnnounceForce:
		s.killed = s.journal.Killing(a.Kind == machine.AnnounceForce, s.left())
	case machine.AnnounceStop:
		s.publishStop()
		fallthrough
	default:
		s.journal.Announce(now, a, s.left)
	}
}

// mayFork reports whether the worker has daemonized, it seems: it was successful, and left a
// session of its own.
func (s *Supervisor) mayFork(left []*proc.Process) bool {
	session := s.worker.PID
	if s.job != nil {
		session, _ = unix.Getsid(0)
	}
	daemon := func(p *proc.Process) bool { return p.PPID == os.Getpid() && p.SID != session }
	return !s.cfg.Forking && s.worker.Exit.ExitStatus() == 0 && slices.ContainsFunc(left, daemon)
}

// left is what is alive below drainit.
func (s *Supervisor) left() journal.Left {
	all, err := s.shown, error(nil)
	if all == nil {
		defer s.paysFor(time.Now())
		all, err = s.sys.All()
	}
	self := os.Getpid()
	return journal.Left{All: append(all.Descendants(self), all.Hanging(self)...), Err: err}
}

// publish shows those outside what has changed.
func (s *Supervisor) publish() {
	now := title.State{Phase: s.machine.Phase(), WorkerAlive: s.worker.Alive(), WorkerStopped: s.worker.Stopped, QuietUnhandled: s.unhandled}
	s.health.Publish(now.Phase, now.WorkerAlive, now.WorkerStopped)
	if text := title.Of(now); text != "" && text != s.title {
		s.title = text
		title.Set(text)
	}
}

// publishStop shows those outside the times of a stop that begins.
func (s *Supervisor) publishStop() {
	if s.machine.Phase() != phase.Draining { // there is no grace
		return
	}
	since, requested := s.machine.Requested()
	if !requested {
		since = s.worker.Exit.At
	}
	stop := title.Stop{Signal: s.machine.StopSignal(), Since: proc.SinceBoot() - time.Since(since), Grace: Forever}
	if end, ok := s.machine.GraceEnd(); ok {
		stop.Grace = end.Sub(since)
	}
	title.SetStop(proc.SecondThread(), stop)
}
