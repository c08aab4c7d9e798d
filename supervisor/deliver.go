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
		if s.isWorker(d) {
			s.worker.Sent |= signals.SetOf(d.Signal)
			s.noteForwarded(d)
			if d.Process.Comm == "" { // hidden from us
				d.Process.Comm = s.worker.Comm
			}
		}
		if d.OnlyIfHandled && !s.handles(d.Process, d.Signal) {
			continue // by now it is another program
		}
		var tick uint64
		if d.Stop {
			tick = s.sys.Ticks()
		}
		err := s.sys.Send(d)
		if err != nil {
			if failed == nil {
				failed = err
			}
			if d.Target <= forward.ToGroup {
				s.journal.Refused(d, err)
			}
		}
		// One that may not be signalled counts as signalled: to try again does not help.
		if d.Stop && (err == nil || errors.Is(err, unix.EPERM)) {
			s.ledger.Sent(d, tick)
			if len(all) < crowd || d.Child || d.Target != forward.ToProcess || d.Process.Stopped() {
				s.continueStopped(d)
			}
		}
		if err == nil {
			s.journal.Sent(d)
			made = append(made, d)
		}
	}
	return made, failed
}

// crowd is how many deliveries are so many that the snapshot before them tells of each
// process whether it is stopped: to ask it again takes as long as to signal it.
const crowd = 32

// noteForwarded keeps which signals the worker was sent that are no part of a stop.
func (s *Supervisor) noteForwarded(d forward.Delivery) {
	if d.Stop {
		return
	}
	s.worker.Forwarded |= signals.SetOf(d.Signal)
	if d.Process.Start != 0 && !d.Process.Handles(d.Signal) { // it was read
		s.worker.Unhandled |= signals.SetOf(d.Signal)
	}
}

// isWorker reports whether a delivery reaches the worker.
func (s *Supervisor) isWorker(d forward.Delivery) bool {
	return !s.worker.Gone() && d.Target <= forward.ToGroup && d.Process.PID == s.worker.PID
}

// continueStopped continues those that were sent the stop signal and are stopped. On a
// terminal it is the whole of the worker's group that was stopped, by a key or by the
// kernel: the worker would wait in vain for those to which it passes the signal on.
func (s *Supervisor) continueStopped(d forward.Delivery) {
	cont := forward.Delivery{Target: d.Target, Process: d.Process, PGID: d.PGID, Signal: unix.SIGCONT, Child: d.Child}
	switch {
	case d.Target == forward.ToGroup && len(d.Members) > 0:
		for _, p := range d.Members {
			if p.Stopped() || len(d.Members) < crowd && s.isStopped(p.PID) {
				cont.Target, cont.Process, cont.Child = forward.ToProcess, p, p.PID == s.worker.PID
				_, _ = s.deliver([]forward.Delivery{cont})
			}
		}
		return
	case s.isWorker(d) && s.job != nil && s.job.GroupStopped():
		_ = s.signalGroup(unix.SIGCONT)
		return
	}
	if s.isStopped(d.Process.PID) {
		_, _ = s.deliver([]forward.Delivery{cont}) // what fails has been warned of
	}
}

// signalGroup signals the process group that the first worker was given.
func (s *Supervisor) signalGroup(sig unix.Signal) error {
	d := forward.Delivery{Target: forward.ToGroup, PGID: s.worker.PGID, Signal: sig}
	if !s.worker.Gone() {
		d.Process, d.Child = s.worker.Process(), true
	}
	_, err := s.deliver([]forward.Delivery{d})
	return err
}

// isStopped asks /proc, and without it goes by what wait4 saw of the worker.
func (s *Supervisor) isStopped(pid int) bool {
	if p, err := s.sys.Read(pid); err == nil {
		return p.Stopped()
	}
	return pid == s.worker.PID && s.worker.Stopped
}

// handles reports whether a process still is that one, and handles a signal.
func (s *Supervisor) handles(p proc.Process, sig unix.Signal) bool {
	now, err := s.sys.Process(p.PID)
	return err == nil && now.ID == p.ID && now.Alive() && now.Handles(sig)
}
