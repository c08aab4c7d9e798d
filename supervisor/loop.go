package supervisor

import (
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
	"drainit/internal/phase"
	"drainit/internal/signals"
	"drainit/reaper"
)

// loop takes one thing after the other until nothing is left to wait for, and sleeps while
// there is none. Stop signals go first: nothing may keep one waiting.
func (s *Supervisor) loop() {
	for s.machine.Phase() != phase.Done {
		at, limited := s.deadline()
		due := limited && !time.Now().Before(at)
		if due {
			s.passTime()
		}
		// What has come has its turn, however soon it is time again.
		if s.machine.Phase() != phase.Done && !s.takeNext() && !due {
			s.queue.Sleep(at, limited)
		}
	}
	s.returnTerminal()
	s.journal.End(s.killed.Kill, s.exitCode().Status)
}

// takeNext takes one thing that has come, and reports whether one has.
func (s *Supervisor) takeNext() bool {
	if s.takePendingStops() {
		return true
	}
	select {
	case pid := <-s.died:
		s.takeDeaths(pid)
		return true
	default:
	}
	sig, ok := s.queue.Take(s.waiting())
	switch {
	case !ok:
		return false
	case sig == unix.SIGCHLD:
		s.reap()
	default:
		s.takePendingStops() // they came before, or as good as before
		s.takeOther(sig)
	}
	return true
}

// passTime is at the deadline.
func (s *Supervisor) passTime() {
	s.takePendingStops()
	s.reap() // what has ended in time has ended in time, however late this is
	s.step(time.Now(), machine.Event{Kind: machine.TimePassed})
}

// deadline is the machine's, or when signals that wait have their turn.
func (s *Supervisor) deadline() (at time.Time, ok bool) {
	at, ok = s.machine.Deadline()
	if busy := s.machine.BusyUntil(); s.queue.Any() && time.Now().Before(busy) && (!ok || busy.Before(at)) {
		return busy, true
	}
	return at, ok
}

// waiting are the signals for which there is no time: each may take a snapshot of all
// processes, and the last one took long. The order of TSTP and CONT counts, and a HUP of the
// terminal is a stop.
func (s *Supervisor) waiting() signals.Set {
	if !time.Now().Before(s.machine.BusyUntil()) {
		return 0
	}
	at := signals.SetOf(unix.SIGTSTP, unix.SIGCONT, unix.SIGCHLD)
	if s.job != nil {
		at |= signals.SetOf(unix.SIGHUP)
	}
	return ^at
}

// takeOther takes a signal that is no stop signal.
func (s *Supervisor) takeOther(sig unix.Signal) {
	if e, ok := s.eventOf(sig); ok {
		s.step(time.Now(), e)
	}
}

// takePendingStops takes the stop signals that wait, and reports whether one did.
func (s *Supervisor) takePendingStops() bool {
	waiting := len(s.queue.Stops)
	if waiting == 0 {
		return false
	}
	s.reap() // a worker that has ended needs no signal, and no force
	for range waiting {
		came := <-s.queue.Stops
		if e, ok := s.eventOf(came.Signal); ok {
			e.At, e.Earliest = came.At, came.Earliest
			s.step(time.Now(), e)
		}
	}
	return true
}

// eventOf is what a signal that came means to the machine. ok is false where it means
// nothing: it is rewritten to nothing, or has been acted upon.
func (s *Supervisor) eventOf(sig unix.Signal) (e machine.Event, ok bool) {
	if s.cfg.Rewrites.Apply(sig) == signals.Drop {
		s.journal.Dropped(sig)
		return e, false
	}
	if sig == unix.SIGHUP && len(s.cfg.stops) > 0 && s.job.HungUp() { // no person can see or stop the worker
		s.journal.HungUp(sig, s.cfg.stops[0])
		if _, requested := s.machine.Requested(); requested {
			return e, false // and no force-stop: it was not requested again
		}
		sig = s.cfg.stops[0]
	}
	switch {
	case slices.Contains(s.cfg.stops, sig):
		return machine.Event{Kind: machine.StopSignaled, Signal: sig}, true
	case sig == unix.SIGTSTP && s.suspends():
		return machine.Event{Kind: machine.SuspendSignaled, Signal: sig}, true
	case sig == unix.SIGTSTP:
		return machine.Event{Kind: machine.QuietSignaled, Signal: sig}, true
	case sig == unix.SIGCONT:
		return machine.Event{Kind: machine.ResumeSignaled, Signal: sig}, !s.job.Continued()
	}
	return machine.Event{Kind: machine.OtherSignaled, Signal: sig}, true
}

// step steps the machine and does what it says.
func (s *Supervisor) step(now time.Time, e machine.Event) {
	before := s.machine.Phase()
	actions := s.machine.Step(now, e)
	switch s.machine.Phase() { // readiness falls before the worker is signalled
	case before:
	case phase.Quiet: // its title says whether a process handles it, and waits for the snapshot that tells
		s.publishHealth()
	default:
		s.publish()
	}
	for _, a := range actions {
		if next, ok := s.perform(now, a); ok {
			s.step(now, next)
		}
	}
	s.clues.shown = nil
	s.publish() // whether a worker that died in a drain has a successor is known now
	s.publishStop()
}

// takeDeaths takes the death of a process that was watched, and of those that wait behind
// it. Such a one may still come when nothing depends on it any longer.
func (s *Supervisor) takeDeaths(pid int) {
	for {
		s.ledger.Died(pid)
		select {
		case pid = <-s.died:
		default:
			s.step(time.Now(), machine.Event{Kind: machine.ChildExited})
			return
		}
	}
}

// How many children are waited for before signals are taken again. A stop signal waits for a
// few, which is some milliseconds; all else for more: what is left behind costs a snapshot of
// all.
const (
	reapBatch = 256
	reapMost  = 1024
)

// reap waits for the children that have changed and steps the machine at the
// end, when it is known whether any is left.
func (s *Supervisor) reap() {
	var events []machine.Event
	s.nameDying()
	for n := 0; n < reapBatch || n < reapMost && !s.queue.StopPending(); n++ {
		child, ok, err := s.sys.Wait()
		switch {
		case errors.Is(err, reaper.ErrNoChildren):
			s.ledger.PromoteLast()
			s.promoteSuccessor()
			s.step(time.Now(), machine.Event{Kind: machine.NothingLeft})
			return
		case err != nil:
			s.journal.Log.Error("cannot wait for children: " + err.Error())
			s.stepAll(events)
			return
		case !ok:
			s.stepAll(events)
			return
		}
		// That others have ended is news once, however many there are.
		if e, ok := s.changed(child); ok && !(e.Kind == machine.ChildExited && slices.Contains(events, e)) {
			events = append(events, e)
		}
	}
	s.stepAll(events)
	s.queue.Put(unix.SIGCHLD) // the others next time
}

func (s *Supervisor) stepAll(events []machine.Event) {
	for _, e := range events {
		s.step(time.Now(), e)
	}
	if s.worker.Gone() && s.job.Granted() { // what it leaves drains without it
		s.returnTerminal()
	}
}

// returnTerminal gives the terminal back, with its modes where the worker was killed.
func (s *Supervisor) returnTerminal() {
	s.job.ReturnTerminal(!s.worker.Gone() || s.worker.Exit.TermSignal() != 0)
}
