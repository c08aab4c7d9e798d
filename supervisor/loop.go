package supervisor

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/journal"
	"drainit/internal/machine"
	"drainit/internal/signals"
)

// loop handles signals, deaths and timers, and sleeps while there are none. It returns in phase Done.
func (s *Supervisor) loop() {
	for s.machine.Phase() != machine.Done {
		now, busy := time.Now(), s.machine.BusyUntil()
		at, limited := s.machine.Deadline()
		due := limited && !now.Before(at)
		if s.queue.Pending() != 0 && now.Before(busy) && (!limited || busy.Before(at)) {
			at, limited = busy, true // takeNext leaves the pending signals until then
		}
		came := s.takeNext() // even if timers are due all the time
		switch {
		case due:
			s.reap() // what ended before the timer counts as such, even if the loop is late
			s.happened(machine.TimePassed)
		case !came && s.machine.Phase() == machine.Starting && s.public.ready.Load() != notReady:
			s.noteReady()
		case !came:
			s.queue.Sleep(at, limited)
		}
	}
	s.job.ReturnTerminal()
	s.journal.End(s.exitCode().Status, s.job != nil)
}

// takeNext takes all stop signals and deaths that have come, then at most one other signal. It reports
// whether there was anything to take. Any of the other signals but CHLD may cost a snapshot, so it waits
// until the last snapshot is paid for (machine.BusyUntil).
func (s *Supervisor) takeNext() bool {
	var waiting signals.Set
	if time.Now().Before(s.machine.BusyUntil()) {
		waiting = ^signals.SetOf(unix.SIGCHLD)
	}
	sig, came := s.queue.Take(waiting) // before Stops is read: an earlier stop signal goes first
	stops, deaths := len(s.queue.Stops), len(s.sys.Died)
	if stops > 0 || sig == unix.SIGCHLD {
		s.reap() // a worker that has ended needs no signal, and no force
	}
	for range stops {
		stop := <-s.queue.Stops
		s.take(stop.Signal, stop.Earliest)
	}
	for range deaths {
		s.history.Died(<-s.sys.Died)
	}
	if deaths > 0 {
		s.happened(machine.ChildExited)
	}
	if came && sig != unix.SIGCHLD {
		s.take(sig, time.Time{})
	}
	return came || stops+deaths > 0
}

// take steps the machine by a signal that means something to it, and forwards any other, unless that is
// dropped or the terminal's job control has acted upon it. earliest is the earliest time at which the signal
// can have been sent (sigqueue.Arrival). The zero time stands for now.
func (s *Supervisor) take(sig unix.Signal, earliest time.Time) {
	if s.cfg.forces(sig) {
		s.takeStop(machine.Event{Signal: unix.SIGTERM, Forced: true}, s.sends)
		return
	}
	if s.cfg.Rewrites.Apply(sig) == signals.Drop {
		s.journal.Say(journal.Dropped, sig, "it is rewritten to 0")
		return
	}
	if sig == unix.SIGHUP && len(s.stops) > 0 && s.job.HungUp() {
		s.journal.Say(journal.TerminalGone, sig, s.stops[0])
		if s.machine.Requested() { // a hang-up is no request for a force-stop
			return
		}
		sig = s.stops[0]
	}
	switch {
	case slices.Contains(s.stops, sig), sig == s.machine.StopSignal():
		s.takeStop(machine.Event{Signal: sig, At: earliest}, s.cfg.Delivered(sig))
	case sig == unix.SIGTSTP:
		if !s.suspends() || !s.job.Suspend() {
			s.happened(machine.QuietSignaled)
		}
	case sig == unix.SIGCONT && s.job.Continued():
	case sig == unix.SIGCONT && s.machine.Phase() >= machine.Quiet:
		s.happened(machine.ResumeSignaled)
	case s.machine.Phase() < machine.Killing:
		s.passThrough(sig)
	}
}

// takeStop steps the machine by a stop signal. sends is the signal that processes are sent in its place.
func (s *Supervisor) takeStop(e machine.Event, sends unix.Signal) {
	if s.machine.Phase() < machine.Draining {
		s.sends = sends
	}
	e.Kind = machine.StopSignaled
	s.step(e)
}

// happened steps the machine by an event that is no signal.
func (s *Supervisor) happened(kind machine.EventKind) { s.step(machine.Event{Kind: kind}) }

// step steps the machine and performs its actions. It publishes a new phase before it performs them. It
// publishes phase Quiet later, once it is known whether a process handles the quiet signal.
func (s *Supervisor) step(e machine.Event) {
	now, before := time.Now(), s.machine.Phase()
	s.journal.Now = now
	actions := s.machine.Step(now, e)
	if is := s.machine.Phase(); is != before && is != machine.Quiet {
		s.publish()
	}
	s.publishStop()
	for _, a := range actions {
		s.perform(now, a)
	}
	s.shown, s.made = nil, nil
	s.publish() // now it is known whether a worker that died has a successor
}

func (s *Supervisor) perform(now time.Time, a machine.Action) {
	switch a.Kind {
	case machine.SignalWorker:
		s.signalWorker()
	case machine.SignalOrphans:
		s.continueStop(forward.Orphans)
	case machine.LastCall:
		s.continueStop(forward.LastCall)
	case machine.FinalCall:
		s.continueStop(forward.FinalCall)
	case machine.Inspect:
		s.checkStart()
	case machine.QuietWorker:
		s.quiet()
	case machine.ResumeWorker:
		s.resume()
	case machine.KillTree:
		if a.Reason != "" {
			s.beginKill(a.Reason)
		}
		s.killTree()
	case machine.GiveUp:
		s.worker.Kill.Stuck = true
		s.journal.Say(journal.StillAlive, machine.KillingTime, s.living())
	default:
		s.announce(now, a)
	}
}

// announce writes the line of an action. Where a stop signal comes after the worker's end, a warning may come
// first.
func (s *Supervisor) announce(now time.Time, a machine.Action) {
	came := a.Signal
	switch a.Line {
	case machine.DrainBegins:
		s.journal.Draining(a.Signal, s.made, s.job != nil && !s.cfg.SecondStopIgnored, s.cfg.Unsent)
	case machine.WorkerEnded:
		s.announceExit()
	case machine.DelayOver:
		s.journal.DelayOver(a.Signal, s.made)
	case machine.GraceBegins:
		s.warnEach(now.Sub(s.worker.Exit.At) <= machine.SameRequest)
		s.journal.Say(journal.GraceStarts, came)
	case machine.SameStop:
		s.journal.Once(journal.StopRepeated, came, machine.SameRequest)
	case machine.StopIgnored:
		s.journal.Once(journal.StopIgnored, came)
	case machine.Progress:
		s.journal.Progress(s.living())
	}
}

// announceExit logs which processes a worker that exited by itself has left, and which signal they are sent.
func (s *Supervisor) announceExit() {
	sig := s.sends
	if s.mode(forward.Orphans) == forward.ModeNone {
		sig = 0
	}
	s.journal.Exited(s.living(), sig)
}

// beginKill notes and logs which processes are about to be killed, and why.
func (s *Supervisor) beginKill(why machine.Reason) {
	living := s.living()
	if why == machine.ReasonWorkerOnly { // as the user has it: no kill that counts
		s.journal.Leaving(living)
		return
	}
	kill := &s.worker.Kill
	kill.Reason, kill.Victims, kill.Unread = why, living.All, living.Err != nil
	s.journal.Killing(living, s.sends)
}

// living returns the processes below drainit that live or hang. It takes a snapshot unless this step has one.
func (s *Supervisor) living() journal.Living {
	all, err := s.shown, error(nil)
	if all == nil {
		defer s.noteCost(time.Now())
		all, err = s.sys.All()
	}
	self := os.Getpid()
	return journal.Living{All: append(all.Descendants(self), all.Hanging(self)...), Err: err}
}
