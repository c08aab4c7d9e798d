package supervisor

import (
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/journal"
	"drainit/internal/machine"
	"drainit/internal/proc"
)

// announce writes the line of one action.
func (s *Supervisor) announce(now time.Time, a machine.Action) {
	switch a.Kind {
	case machine.AnnounceDrain:
		s.journal.Draining(now, a.Signal, s.job != nil && !s.cfg.SecondStopIgnored)
	case machine.AnnounceExit:
		left := s.left()
		s.journal.Exited(now, left, s.mayFork(left.All))
	case machine.AnnounceStop:
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
		s.journal.Killing(&s.killed.Kill, now, s.journal.GraceOver(), s.left())
	case machine.AnnounceForce:
		s.journal.Killing(&s.killed.Kill, now, journal.ForceStop, s.left())
	case machine.AnnounceStuck:
		s.killed.Victims = "" // not all of them were
		s.journal.Stuck(s.left())
	default:
		s.journal.Log.Error(fmt.Sprintf("no such action: %d", a.Kind)) // a bug, and no reason for PID 1 to end
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
	all, err := s.clues.shown, error(nil)
	if all == nil {
		defer s.bound(time.Now(), false)
		all, err = s.sys.All()
	}
	self := os.Getpid()
	return journal.Left{All: append(all.Descendants(self), all.Hanging(self)...), Err: err}
}
