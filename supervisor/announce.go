package supervisor

import (
	"fmt"
	"os"
	"time"

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
		left, err := s.left()
		hint := ""
		if !s.cfg.Forking {
			hint = s.journal.ForkingHint(left, s.job != nil)
		}
		s.journal.Exited(now, left, err, hint)
	case machine.AnnounceStop:
		s.journal.StopRequested(now, a.Signal)
	case machine.AnnounceSignaled:
		s.journal.Signaled(now)
	case machine.AnnounceLeaving:
		left, err := s.left()
		s.journal.Leaving(left, err)
	case machine.AnnounceSame:
		s.journal.Same(a.Signal)
	case machine.AnnounceIgnored:
		s.journal.Ignored(a.Signal)
	case machine.AnnounceProgress:
		left, err := s.left()
		s.journal.Progress(now, left, err)
	case machine.AnnounceOver:
		s.announceKill(now, s.journal.GraceOver())
	case machine.AnnounceForce:
		s.announceKill(now, "second stop signal, force-stop")
	case machine.AnnounceStuck:
		s.killed.Victims = "" // not all of them were
		left, err := s.left()
		s.journal.Stuck(left, err)
	default:
		s.journal.Log.Error(fmt.Sprintf("no such action: %d", a.Kind)) // a bug, and no reason for PID 1 to end
	}
}

// announceKill names what is about to be killed, and keeps it for the end.
func (s *Supervisor) announceKill(now time.Time, why string) {
	if s.killed.Why == "" {
		s.killed.Why, s.killed.At = why, now
	}
	left, err := s.left()
	switch {
	case err != nil:
		s.killed.Victims, s.killed.Any = "what was left", true
	case len(left) > 0:
		s.killed.Victims, s.killed.Count, s.killed.Any = journal.List(left), len(left), true
	}
	s.journal.Killing(why, left, err)
}

// left is what is alive below drainit.
func (s *Supervisor) left() ([]*proc.Process, error) {
	all, err := s.clues.shown, error(nil)
	if all == nil {
		defer s.bound(time.Now(), false)
		all, err = s.sys.Snapshot(proc.Want{})
	}
	self := os.Getpid()
	return append(all.Descendants(self), all.Hanging(self)...), err
}
