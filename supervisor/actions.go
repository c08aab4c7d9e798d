package supervisor

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/journal"
	"drainit/internal/proc"
)

// signalWorker begins the stop: it sends the stop signal, as package forward plans it. If /proc cannot be
// read, it does without a snapshot, and logs nothing about that.
func (s *Supervisor) signalWorker() {
	r, all, _ := s.requestFor(forward.Stop, s.sends)
	plan := s.takeStep(r, all)
	s.beginWarnings(all)
	if w, ok := all.Process(s.worker.PID); ok && r.Mode == forward.ModeNone {
		plan.Deliveries = []forward.Delivery{{Process: w, Signal: r.Signal}} // made by the platform
	}
	s.report(plan)
}

// continueStop takes a later step of the stop: p is Orphans, LastCall or FinalCall.
func (s *Supervisor) continueStop(p forward.Purpose) {
	r, all, err := s.requestFor(p, s.sends)
	if err != nil {
		s.signalBlind(r, err)
		return
	}
	plan := s.takeStep(r, all)
	s.journal.Late(plan.Deliveries)
	s.report(plan)
}

// takeStep plans a step of the stop and makes its deliveries. It returns the plan with only those deliveries
// that were made. all is nil if there is no snapshot.
func (s *Supervisor) takeStep(r forward.Request, all *proc.Snapshot) forward.Plan {
	s.shown = all
	s.warnGone(all)
	plan := s.history.Plan(r, all)
	s.promote(plan.Successor)
	plan.Deliveries = s.deliver(plan.Deliveries)
	s.made = plan.Deliveries
	watched := s.history.Start != nil && s.sys.Watch(s.history.Watched())
	acted := len(plan.Deliveries) > 0 || r.Mode == forward.ModeNone && !s.machine.Requested()
	s.machine.Observed(time.Now(), acted, time.Duration(plan.Again)*proc.Tick, watched)
	return plan
}

// report warns of the processes that ignore what they were sent in a step of the stop. It also notes which
// processes wait for a signal, and why.
func (s *Supervisor) report(plan forward.Plan) {
	s.journal.Warn(s.warnings.Sent(plan.Deliveries)...)
	for _, w := range plan.Unsignalled {
		s.journal.Unsignalled(w)
	}
}

// signalBlind takes a step of the stop without a snapshot. why is the error of the snapshot. If there is no
// /proc and the worker has gone, it signals every process of the PID namespace, once. Only PID 1 can do that.
// After any other error, the next snapshot is another try.
func (s *Supervisor) signalBlind(r forward.Request, why error) {
	if !errors.Is(why, proc.ErrNoProc) {
		if s.worker.Gone() {
			s.journal.Once(journal.LeftUnknown, why)
		}
		return
	}
	plan := s.history.Plan(r, nil).Deliveries
	if len(s.deliver(plan)) > 0 {
		s.journal.Say(journal.Broadcast, unix.SIGTERM, why)
	} else if len(plan) > 0 {
		s.journal.Once(journal.LeftUnknown, why)
	}
}
