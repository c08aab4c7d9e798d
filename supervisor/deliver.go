package supervisor

import (
	"errors"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/proc"
	"drainit/internal/signals"
)

// deliver sends. It is the only place that does so to the worker's tree. It returns the
// deliveries that were made, and the first error.
func (s *Supervisor) deliver(all []forward.Delivery) (made []forward.Delivery, failed error) {
	for _, d := range all {
		if d.OnlyIfHandled && !s.handles(d.Process, d.Signal) {
			continue // by now it is another program
		}
		if s.worker.Is(d.Process.PID) {
			s.noteWorkerSent(d)
			if d.Process.Comm == "" { // hidden from us
				d.Process.Comm = s.worker.Comm
			}
		}
		tick := s.sys.Ticks()
		err := s.sys.Send(d)
		if failed == nil {
			failed = err
		}
		// One that may not be signalled counts as signalled: to try again does not help.
		if d.Stop && (err == nil || errors.Is(err, unix.EPERM)) {
			s.ledger.Sent(d, tick)
			s.continueStopped(d)
		}
		switch {
		case err == nil:
			s.journal.Sent(d)
			made = append(made, d)
		case d.Target <= forward.ToGroup:
			s.journal.Refused(d, err)
		}
	}
	return made, failed
}

// noteWorkerSent keeps which signals the worker was sent, and which of them are no part of a
// stop.
func (s *Supervisor) noteWorkerSent(d forward.Delivery) {
	sig := signals.SetOf(d.Signal)
	s.worker.Sent |= sig
	if d.Stop {
		return
	}
	s.worker.Forwarded |= sig
	if d.Process.Start != 0 && !d.Process.Handles(d.Signal) { // it was read
		s.worker.Unhandled |= sig
	}
}

// continueStopped continues those that were sent the stop signal and are stopped, by the
// snapshot, and without one by what wait4 saw of the worker. On a terminal it is the whole of
// the worker's group that was stopped, by a key or by the kernel: the worker would wait in vain
// for those to which it passes the signal on.
func (s *Supervisor) continueStopped(d forward.Delivery) {
	if s.worker.Is(d.Process.PID) && s.job != nil && s.job.GroupStopped() {
		_ = s.SignalGroup(unix.SIGCONT)
		return
	}
	cont := forward.Delivery{Target: d.Target, PGID: d.PGID, Signal: unix.SIGCONT}
	if len(d.Members) > 0 {
		cont.Target = forward.ToProcess
	}
	for _, p := range d.Reached() {
		cont.Process, cont.Child = p, s.worker.Is(p.PID)
		if p.Stopped() || cont.Child && s.worker.Stopped {
			_, _ = s.deliver([]forward.Delivery{cont}) // what fails has been warned of
		}
	}
}

// SignalGroup signals the process group that the first worker was given (term.Owner).
func (s *Supervisor) SignalGroup(sig unix.Signal) error {
	d := forward.Delivery{Target: forward.ToGroup, PGID: s.worker.PGID, Signal: sig}
	if !s.worker.Gone() {
		d.Process, d.Child = s.worker.Process(), true
	}
	_, err := s.deliver([]forward.Delivery{d})
	return err
}

// handles reports whether a process still is that one, and handles a signal.
func (s *Supervisor) handles(p proc.Process, sig unix.Signal) bool {
	now, err := s.sys.Process(p.PID)
	return err == nil && now.ID == p.ID && now.Alive() && now.Handles(sig)
}
