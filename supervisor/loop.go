package supervisor

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
	"drainit/internal/phase"
	"drainit/internal/signals"
)

// loop takes what comes, and sleeps while there is nothing, until nothing is left to wait for.
func (s *Supervisor) loop() {
	for s.machine.Phase() != phase.Done {
		now, busy := time.Now(), s.machine.BusyUntil()
		at, limited := s.machine.Deadline()
		if s.queue.Pending() != 0 && now.Before(busy) && (!limited || busy.Before(at)) { // signals that wait have their turn
			at, limited = busy, true
		}
		due := limited && !now.Before(at)
		came := s.takeNext() // it has its turn, however soon it is time again
		switch {
		case due:
			s.reap() // what has ended in time has ended in time, however late this is
			s.step(time.Now(), machine.Event{Kind: machine.TimePassed})
		case !came:
			s.queue.Sleep(at, limited)
		}
	}
	s.returnTerminal()
	s.journal.End(s.killed, s.exitCode().Status)
}

// takeNext takes all stop signals and deaths that have come, then one other signal, and reports
// whether there was anything. A signal may cost a snapshot of all processes: while the last one
// is paid for, none is taken but a stop signal and CHLD.
func (s *Supervisor) takeNext() bool {
	var waiting signals.Set
	if time.Now().Before(s.machine.BusyUntil()) {
		waiting = ^signals.SetOf(unix.SIGCHLD)
	}
	sig, ok := s.queue.Take(waiting)
	stops, deaths := s.takeStops(), s.takeDeaths()
	switch {
	case !ok:
		return stops || deaths
	case sig == unix.SIGCHLD:
		s.reap()
	default:
		if e, ok := s.eventOf(sig); ok {
			s.step(time.Now(), e)
		}
	}
	return true
}

// takeStops takes the stop signals that have come.
func (s *Supervisor) takeStops() (any bool) {
	waiting := len(s.queue.Stops)
	if waiting > 0 {
		s.reap() // a worker that has ended needs no signal, and no force
	}
	for range waiting {
		came := <-s.queue.Stops
		if e, ok := s.eventOf(came.Signal); ok {
			_, again := s.machine.Requested()
			e.At, e.Forced = came.Earliest, again && s.forceAsked()
			s.step(time.Now(), e)
		}
	}
	return waiting > 0
}

// takeDeaths takes the deaths of processes that were watched. One may come when nothing
// depends on it any longer.
func (s *Supervisor) takeDeaths() (any bool) {
	for len(s.died) > 0 {
		s.ledger.Died(<-s.died)
		any = true
	}
	if any {
		s.step(time.Now(), machine.Event{Kind: machine.ChildExited})
	}
	return any
}

// eventOf is what a signal that came means to the machine. ok is false where it means
// nothing: it is rewritten to nothing, or has been acted upon.
func (s *Supervisor) eventOf(sig unix.Signal) (e machine.Event, ok bool) {
	if s.cfg.Rewrites.Apply(sig) == signals.Drop {
		s.journal.Dropped(sig, "it is rewritten to 0")
		return e, false
	}
	if sig == unix.SIGHUP && len(s.cfg.stops) > 0 && s.job.HungUp() { // no person can see or stop the worker
		s.journal.HungUp(sig, s.cfg.stops[0])
		if _, requested := s.machine.Requested(); requested {
			return e, false // and no force-stop: it was not requested again
		}
		sig = s.cfg.stops[0]
	}
	e = machine.Event{Kind: machine.OtherSignaled, Signal: sig}
	switch {
	case slices.Contains(s.cfg.stops, sig):
		e.Kind = machine.StopSignaled
	case sig == unix.SIGTSTP:
		e.Kind = machine.QuietSignaled
		return e, !s.suspends() || !s.job.Suspend()
	case sig == unix.SIGCONT:
		e.Kind = machine.ResumeSignaled
		return e, !s.job.Continued()
	}
	return e, true
}

// step steps the machine and does what it says. Outside, readiness falls before the worker is
// signalled; but whether a process handles the quiet signal is known only then.
func (s *Supervisor) step(now time.Time, e machine.Event) {
	before := s.machine.Phase()
	actions := s.machine.Step(now, e)
	if is := s.machine.Phase(); is != before && is != phase.Quiet {
		s.publish()
	}
	for _, a := range actions {
		s.perform(now, a)
	}
	s.shown = nil
	s.publish() // whether a worker that died in a drain has a successor is known now
}
