package supervisor

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/journal"
	"drainit/internal/machine"
	"drainit/internal/signals"
	"drainit/internal/title"
	"drainit/internal/worker"
)

// loop handles what comes, and sleeps while there is nothing, until phase Done.
func (s *Supervisor) loop() {
	for s.machine.Phase() != machine.Done {
		now, busy := time.Now(), s.machine.BusyUntil()
		at, limited := s.machine.Deadline()
		if s.queue.Pending() != 0 && now.Before(busy) && (!limited || busy.Before(at)) { // pending signals are taken then
			at, limited = busy, true
		}
		due := limited && !now.Before(at)
		came := s.takeNext() // even if timers are due all the time
		switch {
		case due:
			s.reap() // what ended before the timer counts as such, even if the loop is late
			s.step(time.Now(), machine.Event{Kind: machine.TimePassed})
		case !came && s.public.health.Load().Phase == machine.Starting && s.public.ready.Load() != notReady:
			s.noteReady()
		case !came:
			s.queue.Sleep(at, limited)
		}
	}
	s.job.ReturnTerminal()
	s.journal.End(s.exitCode().Status, s.job != nil)
}

// takeNext takes all stop signals and deaths that have come, then one other signal, and reports whether there
// was anything. Other signals may cost a snapshot, and wait while the last one is paid for, except CHLD.
func (s *Supervisor) takeNext() bool {
	var waiting signals.Set
	if time.Now().Before(s.machine.BusyUntil()) {
		waiting = ^signals.SetOf(unix.SIGCHLD)
	}
	sig, came := s.queue.Take(waiting) // before Stops is read: an earlier stop signal goes first
	stops, deaths := len(s.queue.Stops), len(s.sys.Died())
	if stops > 0 || sig == unix.SIGCHLD {
		s.reap() // a worker that has ended needs no signal, and no force
	}
	for range stops {
		stop := <-s.queue.Stops
		s.take(stop.Signal, stop.Earliest)
	}
	for range deaths {
		s.ledger.Died(<-s.sys.Died())
	}
	if deaths > 0 {
		s.step(time.Now(), machine.Event{Kind: machine.ChildExited})
	}
	if came && sig != unix.SIGCHLD {
		s.take(sig, time.Time{})
	}
	return came || stops+deaths > 0
}

// take steps the machine by a signal, unless it is dropped or the terminal's job control has acted upon it.
// earliest is that of sigqueue.Arrival, zero for now.
func (s *Supervisor) take(sig unix.Signal, earliest time.Time) {
	if sig == signals.ForceStop && s.isForced() {
		s.step(time.Now(), machine.Event{Kind: machine.StopSignaled, Signal: unix.SIGTERM, Forced: true})
		return
	}
	if s.cfg.Rewrites.Apply(sig) == signals.Drop {
		s.journal.Say(journal.Dropped, journal.Came(sig), "it is rewritten to 0")
		return
	}
	if sig == unix.SIGHUP && len(s.cfg.stops) > 0 && s.job.HungUp() {
		s.journal.Say(journal.TerminalGone, journal.Came(sig), journal.Came(s.cfg.stops[0]))
		if _, again := s.machine.Requested(); again { // a hang-up is no request for a force-stop
			return
		}
		sig = s.cfg.stops[0]
	}
	e := machine.Event{Kind: machine.OtherSignaled, Signal: sig, At: earliest}
	switch {
	case slices.Contains(s.cfg.stops, sig):
		e.Kind = machine.StopSignaled
	case sig == unix.SIGTSTP:
		e.Kind = machine.QuietSignaled
		if s.suspends() && s.job.Suspend() {
			return
		}
	case sig == unix.SIGCONT:
		e.Kind = machine.ResumeSignaled
		if s.job.Continued() {
			return
		}
	}
	s.step(time.Now(), e)
}

// isForced reports whether a process asks for a force-stop. The signal alone may be an application's own.
func (s *Supervisor) isForced() bool {
	defer s.noteCost(time.Now())
	asker, ok := s.sys.Asker(title.Force, title.Forced+strconv.Itoa(os.Getpid()))
	if ok {
		s.worker.Kill.Asker = fmt.Sprintf("process %d, uid %d", asker.PID, asker.UID)
	}
	return ok
}

// step steps the machine and performs its actions. It publishes a new phase before the worker is signalled,
// but Quiet only when it is known whether a process handles that.
func (s *Supervisor) step(now time.Time, e machine.Event) {
	before := s.machine.Phase()
	actions := s.machine.Step(now, e)
	if is := s.machine.Phase(); is != before && is != machine.Quiet {
		s.publish()
	}
	for _, a := range actions {
		s.perform(now, a)
	}
	s.shown = nil
	s.publish() // now it is known whether a worker that died has a successor
}

func (s *Supervisor) perform(now time.Time, a machine.Action) {
	switch a.Kind {
	case machine.SignalWorker:
		s.signalStop(forward.Stop)
	case machine.SignalOrphans:
		s.signalStop(forward.Orphans)
	case machine.LastCall:
		s.signalStop(forward.LastCall)
	case machine.FinalCall:
		s.signalStop(forward.FinalCall)
	case machine.Inspect:
		s.checkStart()
	case machine.QuietWorker:
		s.quiet()
	case machine.ResumeWorker:
		s.resume()
	case machine.PassThrough:
		s.passThrough(a.Signal)
	case machine.KillTree:
		s.killTree()
	case machine.AnnounceDrain:
		s.publishStop()
		s.journal.Draining(now, a.Signal, s.job != nil && !s.cfg.SecondStopIgnored, s.cfg.Unsent)
	case machine.AnnounceExit:
		s.publishStop()
		s.announceExit(now)
	case machine.AnnounceStop:
		s.publishStop()
		s.warnEach(now.Sub(s.worker.Exit.At) <= machine.SameRequest)
		s.journal.Announce(now, a, s.living)
	case machine.AnnounceOver, machine.AnnounceForce:
		s.beginKill(a.Kind == machine.AnnounceForce)
	case machine.AnnounceStuck:
		s.worker.Kill.Stuck = true
		s.journal.Announce(now, a, s.living)
	default:
		s.journal.Announce(now, a, s.living)
	}
}

// announceExit names what a worker that exited by itself has left, and what that is sent.
func (s *Supervisor) announceExit(now time.Time) {
	living, r := s.living(), s.request(forward.Orphans, 0)
	if r.Mode == forward.ModeNone {
		r.Signal = 0
	}
	s.journal.Exited(now, living, r.Signal)
}

// beginKill notes what is about to be killed, and why.
func (s *Supervisor) beginKill(forced bool) {
	living, why := s.living(), worker.ReasonGrace
	switch {
	case forced && s.worker.Kill.Asker != "":
		why = worker.ReasonForce
	case forced:
		why = worker.ReasonSecondStop
	}
	s.worker.Kill = worker.Kill{Reason: why, Grace: s.machine.Grace(), Asker: s.worker.Kill.Asker, Victims: living.All, Unseen: living.Err != nil}
	s.journal.Killing(living)
}

// living returns what is alive below drainit.
func (s *Supervisor) living() journal.Living {
	all, err := s.shown, error(nil)
	if all == nil {
		defer s.noteCost(time.Now())
		all, err = s.sys.All()
	}
	self := os.Getpid()
	return journal.Living{All: append(all.Descendants(self), all.Hanging(self)...), Err: err}
}
