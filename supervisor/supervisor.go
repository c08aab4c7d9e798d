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
	"drainit/internal/health"
	"drainit/internal/logx"
	"drainit/internal/phase"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/reaper"
)

// supervisor is the loop: one goroutine that forks, reaps, signals and steps
// the machine, so that nothing here needs a lock. It must run on the locked main
// thread, whose signal mask the worker inherits.
type supervisor struct {
	cfg     Config
	log     *logx.Log
	inbox   *Inbox
	stops   []unix.Signal // that begin the stop
	machine *Machine
	tty     terminal
	health  health.State

	worker     int         // its pid
	group      int         // the process group that the first worker was given
	name       string      // its comm, as last seen
	gone       bool        // it has been waited for
	status     int         // of the worker, once gone
	signaled   bool        // it died of a signal
	sent       signals.Set // that were sent to the worker
	stopSignal unix.Signal

	stopWith unix.Signal      // the stop signal to be delivered
	cascade  *forward.Cascade // nil until the first look of a drain
	warned   warned

	quieted map[proc.ID]bool // who was sent the quiet signal
	stopped map[int]bool     // children that wait4 saw stop
	refused map[proc.ID]bool // who could not be signalled, and was warned of

	inHand      bool        // a stop signal is about to be acted upon
	stopSig     unix.Signal // by which the worker is stopped, on a terminal
	interrupted bool        // the worker died of Ctrl-C
	unshared    bool        // which has not reached drainit's process group
	resumed     uint64      // how many CONT had come when the last was acted upon

	toldUnseen  bool      // without /proc, everything was told
	unreadable  bool      // /proc could not be read for a moment, and was warned of
	killing     bool      // something alive was to be sent SIGKILL
	killRefused bool      // something could not be killed, and was warned of
	victims     string    // who was left when the kill began
	loud        bool      // what a worker left when it exited by itself was named
	ended       time.Time // when the worker exited

	daemon bool   // the worker exited and runs on in what it left, by --forking
	shown  string // the title, see showPhase
	report report
}

// Run runs the worker to its end and returns the exit status to report, or
// StatusInterrupted. It must be called on the locked main thread; the log stays open.
func Run(cfg Config, inbox *Inbox, log *logx.Log) int {
	s := &supervisor{
		cfg: cfg, log: log, inbox: inbox, stops: stopSignals(cfg), tty: openTerminal(),
		machine: NewMachine(cfg.Grace, cfg.StopDelay),
		quieted: make(map[proc.ID]bool),
		stopped: make(map[int]bool),
		refused: make(map[proc.ID]bool),
		name:    filepath.Base(cfg.Command[0]),
		report:  report{file: cfg.TerminationLog},
	}
	status := s.run()
	s.report.write(log)
	return status
}

func (s *supervisor) run() int {
	if err := s.prepare(); err != nil {
		s.notStarted("cannot start: " + err.Error())
		return StatusFailed
	}
	if s.stopBeforeStart() {
		return s.ending()
	}
	if err := s.startWorker(); err != nil {
		s.notStarted(err.Error())
		return err.status
	}
	s.loop()
	s.shareInterrupt()
	return s.ending()
}

func (s *supervisor) notStarted(why string) {
	s.log.Error(why)
	s.report.text = why
}

// prepare sets up what the worker must find when it starts.
func (s *supervisor) prepare() error {
	parent := os.Getppid()
	if at := s.cfg.HealthAddr; at.Given() {
		if err := health.Serve(at, &s.health); err != nil {
			return err
		}
	}
	s.inbox.wait(s.stops)
	warmRuntime() // behind what takes a thread for good
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
	sig, ok := s.inbox.early(s.stops)
	if !ok {
		return false
	}
	s.stopSignal = sig
	s.gone, s.status, s.interrupted = true, 128+int(sig), sig == unix.SIGINT && s.isJob()
	s.machine.Step(time.Now(), Event{StopSignaled, sig})
	s.report.text = signals.Name(sig) + " came before the start: the worker is not started"
	s.log.Info(s.report.text, logx.Text("phase", phase.Done.String()), logx.Text("signal", signals.Name(sig)))
	return true
}

// stopSignals are all that begin the stop: one that is dropped has not come.
func stopSignals(cfg Config) []unix.Signal {
	all := append([]unix.Signal{unix.SIGTERM, unix.SIGINT}, cfg.StopSignals...)
	return slices.DeleteFunc(all, func(sig unix.Signal) bool { return cfg.Rewrites.Apply(sig) == signals.Drop })
}

func (s *supervisor) startWorker() *startError {
	s.logSettings()
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
	s.step(time.Now(), Event{Kind: Started})
	s.log.Debug("started "+logx.Label(s.name, pid), logx.Number("pid", pid), logx.Text("comm", s.name))
	return nil
}

// loop waits for one thing after the other until nothing is left to wait for.
// Stop signals go first: nothing may keep one waiting.
func (s *supervisor) loop() {
	s.inbox.relay(s.stops)
	timer := time.NewTimer(0)
	timer.Stop()
	for s.machine.Phase() != phase.Done {
		if at, ok := s.machine.Deadline(); ok {
			timer.Reset(time.Until(at))
		} else {
			timer.Stop()
		}
		if s.takeWaitingStops() {
			continue
		}
		select {
		case sig := <-s.inbox.stops:
			s.takeStops(sig)
		case sig := <-s.inbox.others:
			s.takeWaitingStops() // they came before, or as good as before
			s.takeSignal(time.Now(), sig)
		case <-s.inbox.child:
			s.reap()
		case <-timer.C:
			s.takeWaitingStops()
			s.reap() // who has ended in time has ended in time, however late this is
			s.step(time.Now(), Event{Kind: TimePassed})
		}
	}
	s.returnTerminal()
	s.announceEnd()
}

// takeWaitingStops takes the stop signals that wait, and reports whether one did.
func (s *supervisor) takeWaitingStops() bool {
	select {
	case sig := <-s.inbox.stops:
		s.takeStops(sig)
		return true
	default:
		return false
	}
}

// takeStops takes a stop signal and those that came while it was acted upon.
// All of them came when the first did, as far as can be known: however long
// acting takes on a busy machine, a double delivery stays one request.
func (s *supervisor) takeStops(sig os.Signal) {
	s.inHand = true
	s.reap() // a worker that has ended needs no telling, and no force
	s.inHand = false
	now := time.Now()
	s.takeSignal(now, sig.(unix.Signal))
	for range cap(s.inbox.stops) { // no more than wait at a time
		select {
		case sig := <-s.inbox.stops:
			s.takeSignal(now, sig.(unix.Signal))
		default:
			return
		}
	}
}

// takeSignal steps the machine by the signal that came, before any rewrite; one
// that is rewritten to nothing has not come.
func (s *supervisor) takeSignal(now time.Time, sig unix.Signal) {
	if s.cfg.Rewrites.Apply(sig) == signals.Drop {
		s.log.Debug("dropped "+signals.Name(sig), logx.Text("signal", signals.Name(sig)))
		return
	}
	switch {
	case sig == unix.SIGTSTP && s.suspend(), sig == unix.SIGCONT && s.continuedByShell():
		return
	case len(s.stops) > 0 && s.terminalGone(sig):
		if _, asked := s.machine.Asked(); asked {
			return // and no force-stop: nobody has asked again
		}
		sig = s.stops[0]
	}
	s.step(now, Event{s.kindOf(sig), sig})
}

func (s *supervisor) kindOf(sig unix.Signal) EventKind {
	switch {
	case slices.Contains(s.stops, sig):
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
	before := s.machine.Phase()
	actions := s.machine.Step(now, e)
	if s.machine.Phase() != before { // readiness falls before the worker is told
		s.showPhase()
	}
	for _, a := range actions {
		s.act(now, a)
	}
	s.showPhase() // whether a worker that died in a drain has an heir is known now
}
