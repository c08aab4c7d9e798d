package supervisor

import (
	"errors"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/journal"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// request is the request to package forward for a signal that came now, 0 if the worker exited by itself.
func (s *Supervisor) request(p forward.Purpose, came unix.Signal) forward.Request {
	r := s.cfg.Request(p, came, s.sys.Ticks())
	r.Mode = s.mode(p)
	return r
}

// mode is which processes get a signal. ModeNone holds only in a stop by the platform. A worker that died less than
// onItsWay ago may have been the first to receive the platform's signal.
func (s *Supervisor) mode(p forward.Purpose) forward.Mode {
	const onItsWay = time.Second
	_, requested := s.machine.Requested()
	byItself := !requested && s.worker.Gone() && time.Since(s.worker.Exit.At) >= onItsWay
	if s.cfg.Mode == forward.ModeNone && (!p.OfStop() || byItself) {
		return forward.ModeAuto
	}
	return s.cfg.Mode
}

// How long a snapshot may take. Stop signals wait meanwhile, and for the first one the worker's signal.
const (
	firstLook = 50 * time.Millisecond
	laterLook = 250 * time.Millisecond
)

// observe takes the snapshot that the plan of a request needs, nil for none. For a signal that is no stop
// signal, the worker is enough if it handles that.
func (s *Supervisor) observe(r forward.Request) (*proc.Snapshot, error) {
	if !s.ledger.NeedsTree(r) {
		return nil, nil
	}
	if !r.Purpose.OfStop() && r.Mode != forward.ModeGroup && !s.worker.Gone() {
		if p, err := s.sys.Process(s.worker.PID); err == nil && p.Handles(r.Signal) {
			s.keepName(p)
			return proc.New([]proc.Process{p}), nil
		}
	}
	within := laterLook
	if r.Purpose == forward.Stop {
		within = firstLook
	}
	defer s.noteCost(time.Now())
	all, err := s.sys.Tree(os.Getpid(), s.ledger.Start, within)
	p, _ := all.Process(s.worker.PID)
	s.keepName(p)
	return all, err
}

// noteCost tells the machine how long a read of /proc took.
func (s *Supervisor) noteCost(began time.Time) {
	now := time.Now()
	s.machine.SnapshotTook(now, now.Sub(began))
}

// readWorker reads the worker's stat, and keeps its name, which may have changed.
func (s *Supervisor) readWorker() (proc.Process, error) {
	p, err := s.sys.Read(s.worker.PID)
	s.keepName(p)
	return p, err
}

func (s *Supervisor) keepName(p proc.Process) {
	if s.worker.Is(p.PID) && p.Comm != "" {
		s.worker.Comm = p.Comm
	}
}

// signalStop takes one step of the stop. The first one does without /proc if it has to, and needs no line
// about that.
func (s *Supervisor) signalStop(purpose forward.Purpose) {
	r := s.request(purpose, s.machine.StopSignal())
	all, err := s.observe(r)
	if err != nil && purpose != forward.Stop {
		s.signalUnseen(r, err)
		return
	}
	s.shown = all
	if purpose == forward.Stop {
		if came := s.machine.StopSignal(); s.mayDieOf(came, all) && s.adopt(came, all) {
			r = s.request(purpose, came)
		}
		s.warnPending(all)
	}
	plan := s.ledger.Plan(r, all)
	s.promote(plan.Successor)
	made := s.deliver(plan.Deliveries)
	if purpose >= forward.LastCall {
		s.journal.Late(time.Now(), made)
	}
	watched := s.ledger.Start != nil && s.sys.Watch(s.ledger.Watched())
	_, requested := s.machine.Requested()
	s.machine.Observed(time.Now(), len(made) > 0 || plan.Holding || r.Mode == forward.ModeNone && !requested, watched)
	if purpose == forward.Stop {
		s.warnAtStop(all)
	}
	if w, ok := all.Process(s.worker.PID); ok && purpose == forward.Stop && r.Mode == forward.ModeNone {
		made = []forward.Delivery{{Process: w, Signal: r.Signal}} // by the platform
	}
	s.noteSent(all, made)
	for _, w := range plan.Waiting {
		s.journal.Waiting(w)
	}
	for _, b := range plan.BlockedTraps {
		if !s.interrupted() {
			s.journal.BlockedTrap(b.Shell, b.Child, len(program.Foreground(all, all.Children(b.Shell.PID))) == 1)
		}
	}
}

// mayDieOf reports whether a stop signal may go to a process without a handler of its own: a worker that is no shell
// and no launcher, or a process with a runtime's handler. Others are sent TERM unless they handle the signal.
func (s *Supervisor) mayDieOf(came unix.Signal, all *proc.Snapshot) bool {
	return slices.ContainsFunc(all.Descendants(os.Getpid()), func(p *proc.Process) bool {
		return p.PID == s.worker.PID && program.Of(p) == program.Other || program.MayBeRuntimes(p, came)
	})
}

// signalUnseen signals every process of the namespace, once, if there is no /proc. Only PID 1 can. A failed
// read is tried again at the next snapshot.
func (s *Supervisor) signalUnseen(r forward.Request, why error) {
	if !errors.Is(why, proc.ErrNoProc) {
		if s.worker.Gone() {
			s.journal.Once(journal.LeftUnknown, why)
		}
		return
	}
	plan := s.ledger.Plan(r, nil).Deliveries
	if len(s.deliver(plan)) > 0 {
		s.journal.Say(journal.Broadcast, unix.SIGTERM, why)
	} else if len(plan) > 0 {
		s.journal.Once(journal.LeftUnknown, why)
	}
}

// quiet sends the quiet signal to the processes that handle it and have not been sent it.
func (s *Supervisor) quiet() {
	s.public.unhandled = false
	if s.cfg.Rewrites.Apply(unix.SIGTSTP) == signals.Drop {
		return
	}
	r := s.request(forward.Quiet, unix.SIGTSTP)
	all, err := s.observe(r)
	handled := len(s.ledger.Handlers(r, all)) > 0
	if err == nil && !handled && !s.masksKnown(all) {
		err = journal.ErrNoMasks
	}
	s.public.unhandled = err == nil && !handled
	s.publish() // before any process is signalled
	made := s.deliver(s.ledger.Plan(r, all).Deliveries)
	for _, d := range made {
		s.ledger.Quieted[d.Process.ID] = d.Process
		s.unfreeze(d.Process.PID)
	}
	if s.machine.Phase() != machine.Draining || err == nil && handled { // in a stop delay, no effect is not worth a warning
		s.journal.Quiet(r.Signal, handled, made, err)
	}
}

// unfreeze continues a process that drainit's TSTP has stopped, since an exec took its handler away, and
// reports whether it has.
func (s *Supervisor) unfreeze(pid int) bool {
	p, err := s.sys.Read(pid)
	if _, quieted := s.ledger.Quieted[p.ID]; err != nil || !quieted || !p.Stopped() {
		return false
	}
	_ = s.send(&forward.Delivery{Process: p, Signal: unix.SIGCONT, Child: s.worker.Is(pid)})
	s.journal.Say(journal.Frozen, p)
	return true
}

func (s *Supervisor) resume() {
	r := s.request(forward.Resume, unix.SIGCONT)
	made := s.deliver(s.ledger.Plan(r, nil).Deliveries)
	clear(s.ledger.Quieted) // they may be quieted again
	s.journal.Running(r.Signal, made)
}

func (s *Supervisor) passThrough(came unix.Signal) {
	r := s.request(forward.PassThrough, came)
	if r.Signal == unix.SIGCONT && !s.worker.Gone() && s.job != nil && s.job.GroupStopped() {
		_ = s.SignalGroup(unix.SIGCONT) // as the sender to a job means it
		return
	}
	if s.worker.Gone() && !s.cfg.Forking {
		s.journal.Say(journal.Dropped, journal.Came(came), "the worker has gone")
		return
	}
	all, err := s.observe(r)
	if err != nil && s.worker.Gone() {
		s.journal.Once(journal.LeftUnknown, err)
		return
	}
	if all == nil {
		p, _ := s.readWorker()
		all = proc.New([]proc.Process{p})
	}
	if s.machine.Phase() < machine.Draining && s.adopt(came, all) {
		s.cfg.stops = append(s.cfg.stops, came)
		s.step(time.Now(), machine.Event{Kind: machine.StopSignaled, Signal: came})
		return
	}
	plan := s.ledger.Plan(r, all).Deliveries
	s.deliver(plan)
	acted := func(d forward.Delivery) bool { return d.Process.Start == 0 || d.Process.On(r.Signal) != proc.Ignores }
	if len(plan) > 0 && s.job == nil && !slices.ContainsFunc(plan, acted) {
		s.journal.NoEffect(came)
	}
}

// adopt makes a signal the stop signal, TERM in its place, where it can only be meant as that: one that a platform
// sends by an image's STOPSIGNAL. It reports whether it has. On a terminal a person may mean what the signal does.
func (s *Supervisor) adopt(came unix.Signal, all *proc.Snapshot) bool {
	stop, ok := s.cfg.Adopted(os.Getpid(), came, all)
	if !ok || s.job != nil {
		return false
	}
	s.cfg.Rewrites[came] = stop
	s.journal.TakenAsStop(came, stop)
	return true
}

// suspends reports whether a TSTP is to stop drainit, as Ctrl-Z does any program that does not handle it.
func (s *Supervisor) suspends() bool {
	r := s.request(forward.Quiet, unix.SIGTSTP)
	if r.Signal != unix.SIGTSTP || !s.job.MaySuspend() {
		return false
	}
	all, err := s.observe(r)
	return err == nil && len(s.ledger.Handlers(r, all)) == 0
}
