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
	"drainit/internal/signals"
)

// mode returns which processes get a signal: Config.Mode, but for two cases of ModeNone, by which the
// platform signals each process. ModeAuto takes its place for a signal that is no step of a stop. It also
// does after a worker that ended without a request, if that was at least onItsWay ago: before, the platform's
// stop signal may have ended it.
func (s *Supervisor) mode(p forward.Purpose) forward.Mode {
	const onItsWay = time.Second
	byItself := !s.machine.Requested() && s.worker.Gone() && time.Since(s.worker.Exit.At) >= onItsWay
	if s.cfg.Mode == forward.ModeNone && (!p.OfStop() || byItself) {
		return forward.ModeAuto
	}
	return s.cfg.Mode
}

// How long a snapshot may take. Stop signals that come meanwhile wait. firstRead is the shorter one, because
// the first stop signal goes to the worker only after the snapshot.
const (
	firstRead = 50 * time.Millisecond
	laterRead = 250 * time.Millisecond
)

// requestFor returns the request to package forward for the signal came, which is 0 if the worker exited by
// itself. all is the snapshot that the plan of the request needs. It is nil if the plan needs none, or if
// /proc cannot be read, and then err says why. It has only the worker if the signal is no stop signal and the
// worker handles it, except in ModeGroup.
func (s *Supervisor) requestFor(p forward.Purpose, came unix.Signal) (
	r forward.Request, all *proc.Snapshot, err error,
) {
	left := s.cfg.Grace
	if end, ok := s.machine.GraceEnd(); ok {
		left = time.Until(end)
	}
	r = s.cfg.Request(p, s.delivered(came), s.sys.Ticks(), left)
	r.Mode, r.ByKey = s.mode(p), s.job != nil && r.Signal == unix.SIGINT
	if !s.history.NeedsTree(r) {
		return r, nil, nil
	}
	if !p.OfStop() && r.Mode != forward.ModeGroup && !s.worker.Gone() {
		if w, err := s.sys.Process(s.worker.PID); err == nil && w.Handles(r.Signal) {
			s.keepName(w)
			return r, proc.New([]proc.Process{w}), nil
		}
	}
	within := laterRead
	if p == forward.Stop {
		within = firstRead
	}
	defer s.noteCost(time.Now())
	all, err = s.sys.Tree(os.Getpid(), s.history.Start, within)
	w, _ := all.Process(s.worker.PID)
	s.keepName(w)
	return r, all, err
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

// signalWorker begins the stop: it sends the stop signal that came, as package forward plans it. If /proc
// cannot be read, it does without a snapshot, and logs nothing about that.
func (s *Supervisor) signalWorker(came unix.Signal) {
	r, all, _ := s.requestFor(forward.Stop, came)
	s.warnPending(all)
	plan := s.takeStep(r, all)
	s.warnAtStop(all)
	if w, ok := all.Process(s.worker.PID); ok && r.Mode == forward.ModeNone {
		plan.Deliveries = []forward.Delivery{{Process: w, Signal: r.Signal}} // made by the platform
	}
	s.report(r, plan)
}

// continueStop takes a later step of the stop: p is Orphans, LastCall or FinalCall.
func (s *Supervisor) continueStop(p forward.Purpose) {
	r, all, err := s.requestFor(p, s.machine.StopSignal())
	if err != nil {
		s.signalBlind(r, err)
		return
	}
	plan := s.takeStep(r, all)
	s.journal.Late(time.Now(), plan.Deliveries)
	s.report(r, plan)
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
func (s *Supervisor) report(r forward.Request, plan forward.Plan) {
	s.warnIgnoring(plan.Deliveries)
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

// quiet sends the quiet signal to the processes that handle it and have not been sent it since the last
// resume.
func (s *Supervisor) quiet() {
	s.public.unhandled, s.public.unresumed = false, 0
	if s.cfg.Rewrites.Apply(unix.SIGTSTP) == signals.Drop {
		return
	}
	r, all, err := s.requestFor(forward.Quiet, unix.SIGTSTP)
	none := len(s.history.Handlers(r, all)) == 0
	if err == nil && none && !s.masksKnown(all) {
		err = journal.ErrNoMasks
	}
	s.public.unhandled = err == nil && none
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
	r, _, _ := s.requestFor(forward.Resume, unix.SIGCONT)
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
		s.public.unresumed = 1 + s.public.unresumed%2
		s.journal.Say(journal.StillQuiet, *plan.Unsignalled[0].Processes[0], r.Signal)
		return
	}
	s.happened(machine.Resumed) // published before any process is signalled
	s.journal.Running(r.Signal, s.deliver(plan.Deliveries))
}

func (s *Supervisor) passThrough(came unix.Signal) {
	resumes := s.delivered(came) == unix.SIGCONT && s.job != nil && s.job.GroupStopped()
	quits := s.delivered(came) == unix.SIGQUIT && s.job != nil // Ctrl-\
	if (resumes || quits) && !s.worker.Gone() {
		_ = s.SignalGroup(s.delivered(came)) // as the terminal sends it, or a shell to its job
		return
	}
	if s.worker.Gone() && !s.cfg.Forking {
		s.journal.Say(journal.Dropped, journal.Came(came), "the worker has gone")
		return
	}
	r, all, err := s.requestFor(forward.PassThrough, came)
	if err != nil && s.worker.Gone() {
		s.journal.Once(journal.LeftUnknown, err)
		return
	}
	if all == nil {
		p, _ := s.readWorker()
		all = proc.New([]proc.Process{p})
	}
	if s.machine.Phase() < machine.Draining && s.adopt(came, all) {
		s.step(machine.Event{Kind: machine.StopSignaled, Signal: came})
		return
	}
	plan := s.history.Plan(r, all).Deliveries
	s.deliver(plan)
	acted := func(d forward.Delivery) bool {
		return d.Process.Start == 0 || d.Process.On(r.Signal) != proc.Ignores
	}
	if came != unix.SIGCONT && len(plan) > 0 && s.job == nil && !slices.ContainsFunc(plan, acted) {
		s.journal.NoEffect(came)
	}
}

// adopt takes a signal (came) for a stop signal, and reports whether it has. It does so only if the signal
// can only be meant as a stop (Config.Adopted): a platform sends it by an image's STOPSIGNAL. It does not on
// a terminal, where a person may mean what the signal itself does, nor a second time.
func (s *Supervisor) adopt(came unix.Signal, all *proc.Snapshot) bool {
	stop, ok := s.cfg.Adopted(os.Getpid(), came, all)
	if !ok || s.job != nil || came == s.adopted {
		return false
	}
	s.adopted = came
	s.journal.TakenAsStop(came, stop)
	return true
}

// delivered returns the signal that processes are sent when the signal came has come (Config.Delivered). TERM
// takes the place of an adopted one.
func (s *Supervisor) delivered(came unix.Signal) unix.Signal {
	if came == s.adopted {
		came = 0
	}
	return s.cfg.Delivered(came)
}

// suspends reports whether a TSTP is to stop drainit, because no process handles it. Ctrl-Z stops any program
// without a handler in this way.
func (s *Supervisor) suspends() bool {
	if s.delivered(unix.SIGTSTP) != unix.SIGTSTP || !s.job.MaySuspend() {
		return false
	}
	r, all, err := s.requestFor(forward.Quiet, unix.SIGTSTP)
	return err == nil && len(s.history.Handlers(r, all)) == 0
}
