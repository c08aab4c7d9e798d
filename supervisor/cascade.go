package supervisor

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/logx"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/reaper"
)

// beginCascade looks at all that lives below drainit, before the stop signal
// goes out: the dead can't be asked. came is the signal before any rewrite.
func (s *supervisor) beginCascade(came unix.Signal) error {
	s.stopWith = s.cfg.Rewrites.Apply(came)
	if s.stopWith == signals.Drop { // nobody asked: the worker exited by itself
		s.stopWith = unix.SIGTERM
	}
	seen, err := s.lookBelow()
	if err != nil {
		return err
	}
	s.warnAtStop(seen)
	worker, heads := s.heads(seen)
	s.cascade = forward.NewCascade(os.Getpid(), s.stopWith, seen, worker, heads)
	if s.cfg.Forking {
		s.cascade.Daemonizes()
	}
	return nil
}

// heads are those to be told as the worker is: the worker, or once it has gone
// all the children of drainit.
func (s *supervisor) heads(seen []proc.Seen) (worker proc.ID, heads []proc.ID) {
	if !s.gone {
		worker = s.workerProcess().ID
		return worker, []proc.ID{worker}
	}
	for _, p := range seen {
		if p.PPID == os.Getpid() {
			heads = append(heads, p.ID)
		}
	}
	return worker, heads
}

func (s *supervisor) lookBelow() ([]proc.Seen, error) {
	began := time.Now()
	sigs := []unix.Signal{s.stopWith}
	if s.stopWith != unix.SIGTERM {
		sigs = append(sigs, unix.SIGTERM)
	}
	seen, err := proc.ReadBelow(os.Getpid(), began.Add(looking), sigs...)
	now := time.Now()
	s.machine.Looked(now, now.Sub(began))
	return seen, err
}

// tellWorker begins the telling of a stop: the worker alone, or its group, or
// what a worker that has daemonized left.
func (s *supervisor) tellWorker(came unix.Signal) {
	if s.cfg.Mode == ModeWorker && !s.daemon {
		s.stopWith = s.cfg.Rewrites.Apply(came)
		if seen, err := s.lookBelow(); err == nil {
			s.warnAtStop(seen)
		}
		s.tellOnly(s.stopWith, "the worker alone")
		return
	}
	err := s.beginCascade(came)
	switch {
	case err != nil && s.cfg.Mode == ModeGroup:
		s.tellGroupUnseen(s.cfg.Rewrites.Apply(came))
	case err != nil:
		s.tellOnly(s.cfg.Rewrites.Apply(came), "the worker, for what is below it can't be seen")
	case s.gone:
		s.tellHeads("left by a worker that has daemonized")
	case s.cfg.Mode == ModeGroup:
		s.tellGroup(s.stopWith)
	default:
		s.tellHeads("the worker")
	}
}

// tellOnly tells the worker without any look at what it is.
func (s *supervisor) tellOnly(sig unix.Signal, rule string) {
	if s.signalWorker(sig) == nil {
		s.continueTold(s.workerProcess())
		s.logTold(s.workerProcess(), sig, rule)
	}
}

func (s *supervisor) tellHeads(rule string) {
	for _, t := range s.cascade.Heads(rule) {
		s.tell(t)
	}
}

func (s *supervisor) tellGroup(sig unix.Signal) {
	members := []proc.Process{s.workerProcess()}
	if t, err := proc.ReadTree(); err == nil {
		members = t.Group(s.worker)
	}
	s.signalGroup(sig)
	tick := proc.Ticks()
	s.cascade.ToldGroup(s.worker, sig, tick)
	for _, p := range members {
		s.cascade.Told(p.ID, sig, tick)
		s.logTold(p, sig, "of the worker's process group")
		if s.isStopped(p.PID) {
			_ = s.signal(p, unix.SIGCONT)
		}
	}
}

// tellGroupUnseen tells the worker's group without any look at who is in it.
func (s *supervisor) tellGroupUnseen(sig unix.Signal) {
	s.signalGroup(sig)
	if s.isStopped(s.worker) {
		s.signalGroup(unix.SIGCONT)
	}
	s.logTold(s.workerProcess(), sig, "of the worker's process group, whom nobody can see")
}

// tell sends one process the stop signal, and then CONT if it is stopped: it
// would never see it. One that may not be signalled counts as told.
func (s *supervisor) tell(t forward.Telling) {
	tick := proc.Ticks()
	err := s.signal(t.Process, t.Signal)
	if err != nil && !errors.Is(err, unix.EPERM) {
		return // gone, or to be tried again at the next look
	}
	s.cascade.Told(t.ID, t.Signal, tick)
	s.continueTold(t.Process)
	if err == nil {
		s.logTold(t.Process, t.Signal, t.Rule)
	}
}

// continueTold continues one who was told and is stopped. On a terminal it is the whole
// of the worker's group that was stopped, by a key or by the kernel: the worker would
// wait in vain for those to whom it passes the signal on.
func (s *supervisor) continueTold(p proc.Process) {
	switch {
	case p.PID == s.worker && s.tty.exists() && s.groupStops():
		s.continueGroup()
	case s.isStopped(p.PID):
		_ = s.signal(p, unix.SIGCONT)
	}
}

// tellOrphans looks below drainit and tells those of its children whom nobody
// can have told; all that were not told, in the last seconds of the grace.
func (s *supervisor) tellOrphans(last bool) {
	if s.cfg.Mode == ModeWorker {
		return
	}
	if s.cascade == nil {
		s.beginLate()
		return
	}
	seen, err := s.lookBelow()
	if err != nil {
		s.tellUnseen(err)
		return
	}
	s.cascade.Look(seen)
	s.succeed()
	s.warnDeaf()
	for _, t := range s.cascade.Judge(last) {
		// Who ends a reader cuts off the writer: tee ends by itself when its input does.
		if last || t.Catches(t.Signal) || len(proc.ReadsFrom(t.PID, seen)) == 0 {
			s.tell(t)
		}
	}
}

// beginLate is for a worker that exited by itself, and for a stop that began
// with a /proc which could not be read.
func (s *supervisor) beginLate() {
	came := unix.SIGTERM
	if s.stopSignal != 0 {
		came = s.stopSignal
	}
	if err := s.beginCascade(came); err != nil {
		s.tellUnseen(err)
		return
	}
	if _, asked := s.machine.Asked(); s.gone {
		s.tellHeads("the worker exited by itself")
	} else if asked {
		s.cascade.Told(s.workerProcess().ID, s.stopWith, proc.Ticks())
	}
}

// tellUnseen tells what /proc does not show, once: as PID 1 the kernel knows
// whom; elsewhere nothing can be told. A /proc that can't be read only now is
// read again at the next look.
func (s *supervisor) tellUnseen(why error) {
	if !s.gone {
		return // it was told, and may tell the others
	}
	said := &s.toldUnseen
	if !errors.Is(why, proc.ErrNoProc) {
		said = &s.unreadable
	}
	if *said {
		return
	}
	*said = true
	if said == &s.toldUnseen && reaper.SignalEverything(unix.SIGTERM) == nil {
		s.log.Warn("sent SIGTERM to every process that is left, whoever was told before: "+why.Error(), logx.Text("signal", "SIGTERM"))
		return
	}
	s.log.Warn("cannot tell what the worker left behind: " + why.Error())
}

// succeed makes the heir of a shell or launcher the worker.
func (s *supervisor) succeed() {
	heir, ok := s.cascade.Succeed()
	if !ok {
		return
	}
	s.log.Debug(fmt.Sprintf("%s %s, as told: its heir %s is the worker now", s.workerLabel(), s.howExited(), logx.Name(heir.Process)),
		s.phaseField(), logx.Number("pid", heir.PID), logx.Text("comm", heir.Comm))
	s.worker, s.name, s.gone, s.sent = heir.PID, heir.Comm, false, 0
	if sig, told := s.cascade.WasTold(heir.ID); told {
		s.sent = signals.SetOf(sig)
	}
}
