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
	default:
		s.announce(now, a)
	}
}

// announce writes the line of one action.
func (s *Supervisor) announce(now time.Time, a machine.Action) {
	switch a.Kind {
	case machine.AnnounceDrain:
		s.publishStop()
		s.journal.Draining(now, a.Signal, s.job != nil && !s.cfg.SecondStopIgnored)
	case machine.AnnounceExit:
		s.publishStop()
		left := s.left()
		s.journal.Exited(now, left, s.mayFork(left.All))
	case machine.AnnounceStop:
		s.publishStop()
		s.journal.StopRequested(now, a.Signal)
	case machine.AnnounceSignaled:
		s.journal.Signaled(now)
	case machine.AnnounceLeaving:
		s.journal.Leaving(s.left())
	case machine.AnnounceSame:
		s.journal.Same(a.Signal)
	case machine.AnnounceIgnored:
		s.journal.Ignored(a.Signal)
	case machine.AnnounceProgress:
		s.journal.Progress(now, s.left())
	case machine.AnnounceOver:
		s.journal.Killing(&s.killed, now, s.journal.GraceOver(), s.left())
	case machine.AnnounceForce:
		s.journal.Killing(&s.killed, now, journal.ForceStop, s.left())
	case machine.AnnounceStuck:
		s.killed.Victims = "" // not all of them were
		s.journal.Stuck(s.left())
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
