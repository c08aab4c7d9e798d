package supervisor

import (
	"cmp"
	"errors"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/journal"
	"drainit/internal/machine"
	"drainit/internal/proc"
)

// deliver makes the deliveries, and returns those that were made.
func (s *Supervisor) deliver(all []forward.Delivery) (made []forward.Delivery) {
	for _, d := range all {
		if d.OnlyIfHandled { // the process may have executed another program
			now, err := s.sys.Process(d.Process.PID)
			if err != nil || now.ID != d.Process.ID || !now.Alive() || !now.Handles(d.Signal) {
				continue
			}
		}
		if s.send(&d) == nil {
			made = append(made, d)
		}
	}
	return made
}

// send makes one delivery. No other function signals the worker's tree. The history notes one that is
// refused, too, since another try would fail as well.
func (s *Supervisor) send(d *forward.Delivery) error {
	if s.worker.Is(d.Process.PID) {
		d.Process.Comm = cmp.Or(d.Process.Comm, s.worker.Comm) // /proc may hide it
	}
	tick := s.sys.Ticks()
	err := s.sys.Send(*d)
	d.Refused = errors.Is(err, unix.EPERM)
	if err == nil || d.Refused {
		s.history.Sent(*d, tick)
	}
	switch {
	case err == nil:
		if s.journal.Sent(*d); d.Stop {
			s.continueStopped(d)
		}
	case d.Target <= forward.ToGroup:
		s.journal.Refused(*d, err)
	}
	return err
}

// continueStopped sends CONT to those processes of a delivery that are stopped. On a terminal a key or the
// kernel stops the worker's whole process group, so CONT goes to the whole group there. Otherwise the worker
// would wait in vain for the rest.
func (s *Supervisor) continueStopped(d *forward.Delivery) {
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
			_ = s.send(&cont)
		}
	}
}

func (s *Supervisor) killTree() {
	d := forward.Delivery{Target: forward.ToTree, Signal: unix.SIGKILL}
	if !s.worker.Gone() {
		d.Process = s.worker.Process()
	}
	if err := s.send(&d); err != nil {
		s.journal.Once(journal.NotKilled, err) // each further try fails, too
	}
}

// SignalGroup signals the process group that the first worker was given (term.Owner).
func (s *Supervisor) SignalGroup(sig unix.Signal) error {
	d := forward.Delivery{Target: forward.ToGroup, PGID: s.worker.PGID, Signal: sig}
	if !s.worker.Gone() {
		d.Process, d.Child = s.worker.Process(), true
	}
	return s.send(&d)
}

// MaySuspend reports whether drainit may suspend itself for a shell, as by Ctrl-Z: the worker lives, and no
// drain has begun (term.Owner).
func (s *Supervisor) MaySuspend() bool {
	return s.machine.Phase() <= machine.Quiet && !s.worker.Gone()
}

// Members returns the living processes of a process group (term.Owner).
func (s *Supervisor) Members(pgid int) []*proc.Process {
	all, _ := s.sys.All()
	return all.Group(pgid)
}
