package supervisor

import (
	"maps"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/logx"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/reaper"
)

// act does one thing that the machine said.
func (s *supervisor) act(now time.Time, a Action) {
	switch a.Kind {
	case TellWorker:
		s.tellWorker(a.Signal)
	case TellOrphans:
		s.tellOrphans(false)
	case TellRest:
		s.tellOrphans(true)
	case Inspect:
		s.inspect()
	case QuietWorker:
		if sig := s.cfg.Rewrites.Apply(unix.SIGTSTP); sig != signals.Drop {
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

// isStopped asks /proc, and without it goes by what wait4 saw.
func (s *supervisor) isStopped(pid int) bool {
	if p, err := proc.ReadProcess(pid); err == nil {
		return p.Stopped()
	}
	return s.stopped[pid]
}

// looking bounds the looks of one action at processes that seem to wait for a
// signal: stop signals wait meanwhile.
const looking = 20 * time.Millisecond

// catches returns a look at the handlers as they are at that moment; a process
// that can't be looked at does not catch the signal.
func (s *supervisor) catches(sig unix.Signal) func(pid int) bool {
	until := time.Now().Add(looking)
	return func(pid int) bool {
		catches, err := proc.Catches(pid, sig, until)
		return err == nil && catches
	}
}

// catchers are the processes that a signal goes to because they catch it: by
// mode the first on each way down from the worker, the worker, or its group.
func (s *supervisor) catchers(mode Mode, sig unix.Signal) ([]proc.Process, error) {
	catches := s.catches(sig)
	if !s.gone {
		worker, err := proc.ReadProcess(s.worker)
		if err != nil {
			return nil, err
		}
		if mode != ModeGroup && (worker.HasHandler(sig) || catches(s.worker)) {
			return []proc.Process{worker}, nil // without a look at all of /proc
		}
	}
	if mode == ModeWorker {
		return nil, nil
	}
	t, err := proc.ReadTree()
	if err != nil {
		return nil, err
	}
	if mode == ModeGroup && !s.gone {
		return slices.DeleteFunc(t.Group(s.worker), func(p proc.Process) bool { return !catches(p.PID) }), nil
	}
	var first []proc.Process
	for _, root := range s.roots(t) {
		first = append(first, forward.FirstOnEachWayDown(t, root.PID, catches)...)
	}
	return first, nil
}

// roots are the processes where a way down begins: the worker, or what a worker
// that has daemonized left.
func (s *supervisor) roots(t proc.Tree) []proc.Process {
	if s.gone {
		return t.Children(os.Getpid())
	}
	worker, _ := t.Process(s.worker)
	return []proc.Process{worker}
}

// quiet sends the quiet signal to those that catch it and have not been sent
// it, whatever the mode: the default action would stop the others, jobs and
// heartbeats and all.
func (s *supervisor) quiet(sig unix.Signal) {
	maps.DeleteFunc(s.quieted, func(id proc.ID, _ bool) bool {
		p, err := proc.ReadProcess(id.PID)
		return err == nil && p.ID != id || proc.Vanished(err)
	})
	targets, err := s.catchers(ModeAuto, sig)
	catches := s.catches(sig)
	var sent []proc.Process
	for _, p := range targets {
		// It is asked again, for by now it may be another program, which would stop.
		if !s.quieted[p.ID] && catches(p.PID) && s.signal(p, sig) == nil {
			s.quieted[p.ID] = true
			sent = append(sent, p)
		}
	}
	for _, p := range sent {
		s.unfreeze(p.PID)
	}
	s.announceQuiet(sig, targets, sent, err)
}

// resume takes back what quiet did, from those who were sent it and still live.
func (s *supervisor) resume(sig unix.Signal) {
	var resumed []proc.Process
	for id := range s.quieted {
		p, err := proc.ReadProcess(id.PID)
		if err != nil || p.ID != id {
			p = proc.Process{ID: id} // whether it still is that one, signal finds out
		}
		if s.signal(p, sig) == nil {
			resumed = append(resumed, p)
		}
	}
	clear(s.quieted)
	slices.SortFunc(resumed, func(a, b proc.Process) int { return a.PID - b.PID })
	s.announceResume(sig, resumed)
}

// unfreeze is the safety net of quiet: who stops by a TSTP that drainit sent it is
// continued at once. Of a child wait4 tells that; another is looked at only once,
// right after the signal, by which time an exec may have taken its handler away.
// It reports whether there was a stop to undo.
func (s *supervisor) unfreeze(pid int) bool {
	p, err := proc.ReadProcess(pid)
	if err != nil || !s.quieted[p.ID] || !p.Stopped() {
		return false
	}
	_ = s.signal(p, unix.SIGCONT)
	s.announceFrozen(p)
	return true
}

// passOn delivers a signal that means nothing to drainit.
func (s *supervisor) passOn(sig unix.Signal) {
	onlyIfCaught := signals.StopsByDefault(sig)
	if sig == unix.SIGCONT && !s.gone && s.tty.exists() && s.groupStops() {
		s.continueGroup() // as who sends it to a job means it
		return
	}
	switch {
	case s.gone && !s.cfg.Forking:
		s.log.Debug("the worker has gone: "+signals.Name(sig)+" is for nobody", logx.Text("signal", signals.Name(sig)))
		return
	case s.gone:
		s.passDown(sig, onlyIfCaught)
		return
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

// passDown is passOn for what a worker that has daemonized left: each is a
// worker of its own.
func (s *supervisor) passDown(sig unix.Signal, onlyIfCaught bool) {
	t, err := proc.ReadTree()
	if err != nil {
		s.log.Warn("cannot pass " + signals.Name(sig) + " on: " + err.Error())
		return
	}
	catches := s.catches(sig)
	for _, root := range s.roots(t) {
		rule, targets := "the first that catches it", forward.FirstOnEachWayDown(t, root.PID, catches)
		if len(targets) == 0 && !onlyIfCaught {
			rule, targets = "nobody catches it", []proc.Process{root}
		}
		for _, p := range targets {
			if s.signal(p, sig) == nil {
				s.logTold(p, sig, rule)
			}
		}
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
