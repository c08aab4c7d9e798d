package supervisor

import (
	"errors"
	"maps"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/reaper"
)

// act does one thing that the machine said.
func (s *supervisor) act(now time.Time, a Action) {
	switch a.Kind {
	case TellWorker:
		s.tellWorker(s.cfg.Rewrites.Apply(a.Signal))
	case TellLeftovers:
		s.tellLeftovers()
	case QuietWorker:
		if sig := s.cfg.Rewrites.Apply(unix.SIGTSTP); sig != forward.Drop {
			s.quiet(sig)
		}
	case ResumeWorker:
		s.resume(s.cfg.Rewrites.Apply(unix.SIGCONT))
	case PassOn:
		s.passOn(s.cfg.Rewrites.Apply(a.Signal))
	case KillAll:
		s.killAll()
	default:
		s.announce(now, a)
	}
}

// tellWorker sends the stop signal to the worker, or to its group, and then
// CONT to those of them that are stopped: they would never see it.
func (s *supervisor) tellWorker(sig unix.Signal) {
	if s.cfg.Mode == ModeGroup {
		s.tellGroup(sig)
		return
	}
	err := s.signalWorker(sig)
	if s.isStopped(s.worker) {
		_ = s.signalWorker(unix.SIGCONT)
	}
	if err == nil {
		s.logTold(s.workerProcess(), sig, "the worker")
	}
}

func (s *supervisor) tellGroup(sig unix.Signal) {
	t, err := reaper.ReadTree()
	members := []reaper.Process{s.workerProcess()}
	if err == nil {
		members = t.Group(s.worker)
	}
	s.signalGroup(sig)
	for _, p := range members {
		s.told[p.PID] = p.Start
		s.logTold(p, sig, "of the worker's process group")
		if s.isStopped(p.PID) {
			_ = s.signal(p, unix.SIGCONT)
		}
	}
}

// isStopped asks /proc, and without it goes by what wait4 saw.
func (s *supervisor) isStopped(pid int) bool {
	if p, err := reaper.ReadProcess(pid); err == nil {
		return p.Stopped()
	}
	return s.stopped[pid]
}

// tellLeftovers tells the children of drainit that were not told.
func (s *supervisor) tellLeftovers() {
	if s.cfg.Mode == ModeWorker {
		return
	}
	t, err := reaper.ReadTree()
	if err != nil {
		s.tellUnseen(err)
		return
	}
	signalFor := s.signalForLeftovers()
	for _, p := range t.Children(os.Getpid()) {
		if start, ok := s.told[p.PID]; ok && start == p.Start {
			continue
		}
		sig := signalFor(p)
		err := s.signal(p, sig)
		if err != nil && !errors.Is(err, reaper.ErrGone) && !errors.Is(err, unix.EPERM) {
			continue // the next look tries again
		}
		s.told[p.PID] = p.Start
		if p.Stopped() {
			_ = s.signal(p, unix.SIGCONT)
		}
		if err == nil {
			s.logTold(p, sig, "left when the worker had gone")
		}
	}
}

// tellUnseen tells what /proc does not show, once: as PID 1 the kernel knows
// whom; elsewhere nothing can be told. A /proc that can't be read only now is
// read again at the next look.
func (s *supervisor) tellUnseen(why error) {
	said := &s.toldUnseen
	if !errors.Is(why, reaper.ErrNoProc) {
		said = &s.unreadable
	}
	if *said {
		return
	}
	*said = true
	if said == &s.toldUnseen && reaper.SignalEverything(unix.SIGTERM) == nil {
		s.log.Warn("sent SIGTERM to every process that is left, whoever was told before: "+why.Error(), text("signal", "SIGTERM"))
		return
	}
	s.log.Warn("cannot tell what the worker left behind: " + why.Error())
}

// signalForLeftovers returns what a leftover is told: the stop signal to be
// delivered where it catches that, else TERM.
func (s *supervisor) signalForLeftovers() func(p reaper.Process) unix.Signal {
	came := unix.SIGTERM
	if s.stopSignal != 0 {
		came = s.stopSignal
	}
	to := s.cfg.Rewrites.Apply(came)
	catches := s.catches(to)
	return func(p reaper.Process) unix.Signal {
		if to != forward.Drop && to != unix.SIGTERM && catches(p.PID) {
			return to
		}
		return unix.SIGTERM
	}
}

// looking bounds the looks of one action at processes that seem to wait for a
// signal: stop signals wait meanwhile.
const looking = 20 * time.Millisecond

// catches returns a look at the handlers as they are at that moment; a process
// that can't be looked at does not catch the signal.
func (s *supervisor) catches(sig unix.Signal) func(pid int) bool {
	until := time.Now().Add(looking)
	return func(pid int) bool {
		catches, err := reaper.Catches(pid, sig, until)
		return err == nil && catches
	}
}

// catchers are the processes that a signal goes to because they catch it: by
// mode the first on each way down from the worker, the worker, or its group.
func (s *supervisor) catchers(mode Mode, sig unix.Signal) ([]reaper.Process, error) {
	catches := s.catches(sig)
	worker, err := reaper.ReadProcess(s.worker)
	if err != nil {
		return nil, err
	}
	if mode != ModeGroup && catches(s.worker) {
		return []reaper.Process{worker}, nil // without a look at all of /proc
	}
	if mode == ModeWorker {
		return nil, nil
	}
	t, err := reaper.ReadTree()
	if err != nil {
		return nil, err
	}
	if mode == ModeAuto {
		return forward.FirstOnEachWayDown(t, s.worker, catches), nil
	}
	return slices.DeleteFunc(t.Group(s.worker), func(p reaper.Process) bool { return !catches(p.PID) }), nil
}

// quiet sends the quiet signal to those that catch it and have not been sent
// it, whatever the mode: the default action would stop the others, jobs and
// heartbeats and all.
func (s *supervisor) quiet(sig unix.Signal) {
	maps.DeleteFunc(s.quieted, func(id reaper.ID, _ bool) bool {
		p, err := reaper.ReadProcess(id.PID)
		return err == nil && p.ID != id || reaper.Vanished(err)
	})
	targets, err := s.catchers(ModeAuto, sig)
	var sent []reaper.Process
	for _, p := range targets {
		if !s.quieted[p.ID] && s.signal(p, sig) == nil {
			s.quieted[p.ID] = true
			sent = append(sent, p)
		}
	}
	s.announceQuiet(sig, targets, sent, err)
}

// resume takes back what quiet did, from those who were sent it and still live.
func (s *supervisor) resume(sig unix.Signal) {
	var resumed []reaper.Process
	for id := range s.quieted {
		p, err := reaper.ReadProcess(id.PID)
		if err != nil || p.ID != id {
			p = reaper.Process{ID: id} // whether it still is that one, signal finds out
		}
		if s.signal(p, sig) == nil {
			resumed = append(resumed, p)
		}
	}
	clear(s.quieted)
	slices.SortFunc(resumed, func(a, b reaper.Process) int { return a.PID - b.PID })
	s.announceResume(sig, resumed)
}

// unfreeze is the safety net of quiet: a child that stops by a TSTP that
// drainit sent it is continued at once.
func (s *supervisor) unfreeze(c reaper.Change) {
	if !c.Status.Stopped() || c.Status.StopSignal() != unix.SIGTSTP {
		return
	}
	p, err := reaper.ReadProcess(c.PID)
	if err != nil || !s.quieted[p.ID] {
		return
	}
	_ = s.signal(p, unix.SIGCONT)
	s.announceFrozen(p)
}

// passOn delivers a signal that means nothing to drainit.
func (s *supervisor) passOn(sig unix.Signal) {
	if s.gone {
		s.log.Debug("the worker has gone: "+forward.Name(sig)+" is for nobody", text("signal", forward.Name(sig)))
		return
	}
	onlyIfCaught := forward.OnlyIfCaught(sig)
	switch {
	case s.cfg.Mode == ModeGroup && !onlyIfCaught:
		s.signalGroup(sig)
		return
	case s.cfg.Mode == ModeWorker && !onlyIfCaught:
		_ = s.signalWorker(sig)
		return
	}
	targets, _ := s.catchers(s.cfg.Mode, sig)
	for _, p := range targets {
		if s.signal(p, sig) == nil {
			s.logTold(p, sig, "the first that catches it")
		}
	}
	if len(targets) == 0 && !onlyIfCaught && s.signalWorker(sig) == nil {
		s.logTold(s.workerProcess(), sig, "nobody catches it")
	}
}

func (s *supervisor) killAll() {
	worker := s.worker
	if s.gone {
		worker = 0
	}
	if err := reaper.KillAll(worker); err != nil && !s.killRefused {
		s.killRefused = true // one sweep after the other would say so
		s.log.Warn(err.Error())
	}
}
