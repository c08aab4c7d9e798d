// Package supervisor runs one worker and sees it, and what it leaves behind,
// through quiet, drain and stop.
package supervisor

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/reaper"
)

// supervisor is the loop: one goroutine that forks, reaps, signals and steps
// the machine, so that nothing here needs a lock. It must run on the locked main
// thread, whose signal mask the worker inherits.
type supervisor struct {
	cfg     Config
	log     *Log
	inbox   *Inbox
	machine *Machine
	tty     terminal

	worker     int    // its pid
	group      int    // the process group that the first worker was given
	name       string // its comm, as last seen
	gone       bool   // it has been waited for
	status     int    // of the worker, once gone
	signaled   bool   // it died of a signal
	sent       uint64 // the signals that were sent to the worker, bit n-1 is signal n
	stopSignal unix.Signal

	stopWith unix.Signal      // the stop signal to be delivered
	cascade  *forward.Cascade // nil until the first look of a drain
	warned   warned

	quieted map[reaper.ID]bool // who was sent the quiet signal
	stopped map[int]bool       // children that wait4 saw stop
	refused map[reaper.ID]bool // who could not be signalled, and was warned of

	stopSig    unix.Signal // by which the worker is stopped, on a terminal
	stopsTaken uint64      // how many stop signals have been taken from the inbox
	resumed    int         // how often drainit stopped for its shell and was continued, and the CONT is still to come

	toldUnseen  bool      // without /proc, everything was told
	unreadable  bool      // /proc could not be read for a moment, and was warned of
	killing     bool      // something alive was to be sent SIGKILL
	killRefused bool      // something could not be killed, and was warned of
	victims     string    // who was left when the kill began
	loud        bool      // what a worker left when it exited by itself was named
	ended       time.Time // when the worker exited
}

// Run runs the worker to its end and returns the exit status to report. It
// must be called on the locked main thread; the log stays open.
func Run(cfg Config, inbox *Inbox, log *Log) int {
	s := &supervisor{
		cfg: cfg, log: log, inbox: inbox,
		machine: NewMachine(cfg.Grace, cfg.StopDelay),
		quieted: make(map[reaper.ID]bool),
		stopped: make(map[int]bool),
		refused: make(map[reaper.ID]bool),
		name:    filepath.Base(cfg.Command[0]),
	}
	if err := s.prepare(); err != nil {
		log.Error("cannot start: " + err.Error())
		return StatusFailed
	}
	if s.stopBeforeStart() {
		return s.remap(128 + int(s.stopSignal))
	}
	if err := s.startWorker(); err != nil {
		log.Error(err.Error())
		return err.status
	}
	s.loop()
	return s.remap(s.exitStatus())
}

// prepare sets up what the worker must find when it starts.
func (s *supervisor) prepare() error {
	parent := os.Getppid()
	warmRuntime()
	if err := reaper.Adopt(); err != nil {
		return err
	}
	if err := resetSignals(); err != nil {
		return err
	}
	if sig := s.cfg.ParentDeathSignal; sig != 0 {
		return watchParent(parent, sig)
	}
	return nil
}

// stopBeforeStart reports whether a stop signal has come already: then the
// worker is not started, for it could not be told in time.
func (s *supervisor) stopBeforeStart() bool {
	select {
	case sig := <-s.inbox.stops:
		s.stopsTaken++
		if s.cfg.Rewrites.Apply(sig) == forward.Drop {
			return s.stopBeforeStart()
		}
		s.stopSignal = sig
		s.machine.Step(time.Now(), Event{StopSignaled, sig})
		s.log.Info(forward.Name(sig)+" came before the start: the worker is not started",
			text("phase", Done.String()), text("signal", forward.Name(sig)))
		return true
	default:
		return false
	}
}

func (s *supervisor) startWorker() *startError {
	s.logSettings()
	s.tty = openTerminal()
	s.tty.keepModes()
	s.warnParent()
	onDeath, pipeErr := openDeathPipes(unix.SIGTERM)
	pid, err := start(s.cfg.Command, s.cfg.Env, attributes(&s.tty))
	if err != nil {
		return err
	}
	s.worker, s.group = pid, pid
	if pipeErr == nil {
		pipeErr = onDeath.aimAt(pid)
	}
	if pipeErr != nil {
		s.log.Warn("the worker will not be told if drainit is killed: " + pipeErr.Error())
	}
	detach()
	s.machine.Step(time.Now(), Event{Kind: Started})
	s.log.Debug("started "+label(s.name, pid), number("pid", pid), text("comm", s.name))
	return nil
}

// loop waits for one thing after the other until nothing is left to wait for.
// Stop signals go first: nothing may keep one waiting.
func (s *supervisor) loop() {
	timer := time.NewTimer(0)
	timer.Stop()
	for s.machine.Phase() != Done {
		if at, ok := s.machine.Deadline(); ok {
			timer.Reset(time.Until(at))
		} else {
			timer.Stop()
		}
		select {
		case sig := <-s.inbox.stops:
			s.takeStops(sig)
			continue
		default:
		}
		select {
		case sig := <-s.inbox.stops:
			s.takeStops(sig)
		case sig := <-s.inbox.others:
			s.takeSignal(time.Now(), sig)
		case <-s.inbox.child:
			s.reap()
		case <-timer.C:
			s.reap() // who has ended in time has ended in time, however late this is
			s.step(time.Now(), Event{Kind: TimePassed})
		}
	}
	s.returnTerminal()
	s.announceEnd()
}

// takeStops takes a stop signal and those that came while it was acted upon.
// All of them came when the first did, as far as can be known: however long
// acting takes on a busy machine, a double delivery stays one request.
func (s *supervisor) takeStops(sig unix.Signal) {
	s.reap() // a worker that has ended needs no telling, and no force
	now := time.Now()
	s.stopsTaken++
	s.takeSignal(now, sig)
	for range 2 * len(forward.All()) { // no more than wait at a time
		select {
		case sig := <-s.inbox.stops:
			s.stopsTaken++
			s.takeSignal(now, sig)
		default:
			return
		}
	}
}

// takeSignal steps the machine by the signal that came, before any rewrite; one
// that is rewritten to nothing has not come.
func (s *supervisor) takeSignal(now time.Time, sig unix.Signal) {
	if s.cfg.Rewrites.Apply(sig) == forward.Drop {
		s.log.Debug("dropped "+forward.Name(sig), text("signal", forward.Name(sig)))
		return
	}
	switch {
	case sig == unix.SIGTSTP && s.suspend(), sig == unix.SIGCONT && s.continuedByShell():
		return
	case s.terminalGone(sig):
		if _, asked := s.machine.Asked(); asked {
			return // and no force-stop: nobody has asked again
		}
		sig = unix.SIGTERM
	}
	s.step(now, Event{s.kindOf(sig), sig})
}

func (s *supervisor) kindOf(sig unix.Signal) EventKind {
	switch {
	case sig == unix.SIGTERM, sig == unix.SIGINT, slices.Contains(s.cfg.StopSignals, sig):
		return StopSignaled
	case sig == unix.SIGTSTP:
		return QuietSignaled
	case sig == unix.SIGCONT:
		return ResumeSignaled
	}
	return OtherSignaled
}

// step steps the machine and does what it says.
func (s *supervisor) step(now time.Time, e Event) {
	if e.Kind == StopSignaled && s.stopSignal == 0 {
		s.stopSignal = e.Signal
	}
	for _, a := range s.machine.Step(now, e) {
		s.act(now, a)
	}
}
