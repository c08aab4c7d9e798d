package supervisor

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/journal"
	"drainit/internal/machine"
	"drainit/internal/proc"
)

// passThrough forwards a signal. If the signal can only be meant as a stop (Config.Adopted), it begins the
// stop instead: a platform sends it by an image's STOPSIGNAL. It does not on a terminal, where a person may
// mean what the signal itself does.
func (s *Supervisor) passThrough(came unix.Signal) {
	sig := s.cfg.Delivered(came)
	resumes := sig == unix.SIGCONT && s.job != nil && s.job.GroupStopped()
	quits := sig == unix.SIGQUIT && s.job != nil // Ctrl-\
	if (resumes || quits) && !s.worker.Gone() {
		_ = s.SignalGroup(sig) // as the terminal sends it, or a shell to its job
		return
	}
	if s.worker.Gone() && !s.cfg.Forking {
		s.journal.Say(journal.Dropped, came, "the worker has gone")
		return
	}
	r, all, err := s.requestFor(forward.PassThrough, sig)
	if err != nil && s.worker.Gone() {
		s.journal.Once(journal.LeftUnknown, err)
		return
	}
	if all == nil {
		if p, err := s.readWorker(); err == nil {
			all = proc.New([]proc.Process{p})
		}
	}
	stop, meant := s.cfg.Adopted(os.Getpid(), came, all)
	if meant && s.job == nil && s.machine.Phase() < machine.Draining {
		s.journal.TakenAsStop(came, stop)
		s.takeStop(machine.Event{Signal: came}, stop)
		return
	}
	plan := s.history.Plan(r, all).Deliveries
	s.deliver(plan)
	acted := func(d forward.Delivery) bool {
		return d.Process.Start == 0 || d.Process.On(sig) != proc.Ignores
	}
	if came != unix.SIGCONT && len(plan) > 0 && s.job == nil && !slices.ContainsFunc(plan, acted) {
		s.journal.NoEffect(came)
	}
}
