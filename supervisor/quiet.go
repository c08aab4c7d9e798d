package supervisor

import (
	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/journal"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/title"
)

// quiet sends the quiet signal to the processes that handle it and have not been sent it since the last
// resume.
func (s *Supervisor) quiet() {
	s.public.quiet = title.Handled
	if s.cfg.Rewrites.Apply(unix.SIGTSTP) == signals.Drop {
		return
	}
	r, all, err := s.requestFor(forward.Quiet, s.cfg.Delivered(unix.SIGTSTP))
	none := len(s.history.Handlers(r, all)) == 0
	if w, ok := all.Process(s.worker.PID); err == nil && none && ok && !w.MasksKnown() {
		err = journal.ErrNoMasks
	}
	switch {
	case err != nil:
		s.public.quiet = title.Unknown
	case none:
		s.public.quiet = title.Unhandled
	}
	s.publish() // before any process is signalled
	made := s.deliver(s.history.Plan(r, all).Deliveries)
	for _, d := range made {
		s.unfreeze(d.Process.PID)
	}
	if s.machine.Phase() != machine.Draining || err == nil && !none { // else no line: it is a stop delay
		s.journal.Quiet(r.Signal, none, made, err)
	}
}

// unfreeze continues a process that drainit's TSTP has stopped, and reports whether it has. An exec has taken
// the handler of such a process away.
func (s *Supervisor) unfreeze(pid int) bool {
	p, err := s.sys.Read(pid)
	if err != nil || !s.history.IsQuieted(p) || !p.Stopped() {
		return false
	}
	_ = s.send(&forward.Delivery{Process: p, Signal: unix.SIGCONT, Child: s.worker.Is(pid)})
	s.journal.Say(journal.Frozen, p)
	return true
}

// resume sends the quieted processes the signal that ends quiet. If none of those that live acts upon it,
// quiet goes on: they take no work (Sidekiq).
func (s *Supervisor) resume() {
	r, _, _ := s.requestFor(forward.Resume, s.cfg.Delivered(unix.SIGCONT))
	var now []proc.Process
	for _, p := range s.history.Quieted() {
		is, err := s.sys.Process(p.PID)
		if err != nil && !proc.IsGone(err) { // it may live and act upon the signal
			is = p
			is.Handled = ^signals.Set(0)
		}
		now = append(now, is)
	}
	plan := s.history.Plan(r, proc.New(now))
	if len(plan.Deliveries) == 0 && len(plan.Unsignalled) > 0 {
		if s.public.quiet++; s.public.quiet != title.UnresumedToo {
			s.public.quiet = title.Unresumed
		}
		s.journal.Say(journal.StillQuiet, *plan.Unsignalled[0].Processes[0], r.Signal)
		return
	}
	s.machine.Resumed()
	s.publish() // before any process is signalled
	s.journal.Running(r.Signal, s.deliver(plan.Deliveries))
}

// suspends reports whether a TSTP is to stop drainit, because no process handles it. Ctrl-Z stops any program
// without a handler in this way.
func (s *Supervisor) suspends() bool {
	sig := s.cfg.Delivered(unix.SIGTSTP)
	if sig != unix.SIGTSTP || !s.job.MaySuspend() {
		return false
	}
	r, all, err := s.requestFor(forward.Quiet, sig)
	return err == nil && len(s.history.Handlers(r, all)) == 0
}
