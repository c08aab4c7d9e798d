// Package supervisor runs one worker and sees it, and what it leaves behind, through
// quiet, drain and stop: it decides when.
//
// It owns the phases and the one loop that forks, reaps, signals and steps the machine.
// It must never block on anything but that loop's select, send a signal except in
// deliver, or decide which process gets one: that is package forward's.
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
	"drainit/internal/sigqueue"
	"drainit/internal/term"
	"drainit/reaper"
)

// Outcome is how drainit is to end.
type Outcome struct {
	Status      int  // 0 to 255
	Interrupted bool // by INT itself (term.EndByInterrupt)
}

// Supervisor is the loop: one goroutine, so that nothing here needs a lock. It must run on
// the locked main thread, whose signal mask the worker inherits.
type Supervisor struct {
	cfg     Config
	sys     System
	queue   *sigqueue.Queue
	stops   []unix.Signal // that begin the stop
	machine *Machine
	worker  *worker
	ledger  *forward.Ledger
	job     *term.Job // nil without a terminal
	journal *journal
	board   board
	killed  kill
}

// board is what is published of drainit.
type board struct {
	health health.State
	title  string
}

// kill is what SIGKILL was sent to, and when.
type kill struct {
	why     string
	at      time.Time
	victims string // their names, "" where none was alive
	any     bool   // something alive was to be killed
}

// Run runs the worker to its end. It must be called on the locked main thread; the log
// stays open.
func Run(cfg Config, queue *sigqueue.Queue, log *logx.Log) Outcome {
	s := New(cfg, new(linux), queue, log)
	s.job = term.NewJob(term.Open(), queue, jobOwner{s})
	outcome := s.run()
	s.journal.writeMessage()
	return outcome
}

// New returns a supervisor without a terminal.
func New(cfg Config, sys System, queue *sigqueue.Queue, log *logx.Log) *Supervisor {
	s := &Supervisor{
		cfg: cfg, sys: sys, queue: queue, stops: stopSignals(cfg),
		machine: NewMachine(cfg.Grace, cfg.StopDelay),
		worker:  &worker{Comm: filepath.Base(cfg.Command[0])},
		ledger:  forward.NewLedger(os.Getpid()),
	}
	s.journal = &journal{log: log, cfg: &s.cfg, machine: s.machine, worker: s.worker, said: make(map[string]bool)}
	return s
}

// stopSignals are all that begin the stop: one that is dropped has not come.
func stopSignals(cfg Config) []unix.Signal {
	all := append([]unix.Signal{unix.SIGTERM, unix.SIGINT}, cfg.StopSignals...)
	return slices.DeleteFunc(all, func(sig unix.Signal) bool { return cfg.Rewrites.Apply(sig) == signals.Drop })
}

// loop waits for one thing after the other until nothing is left to wait for.
// Stop signals go first: nothing may keep one waiting.
func (s *Supervisor) loop() {
	timer := time.NewTimer(0)
	timer.Stop()
	for s.machine.Phase() != phase.Done {
		if at, ok := s.machine.Deadline(); ok {
			timer.Reset(time.Until(at))
		} else {
			timer.Stop()
		}
		if s.takePendingStops() {
			continue
		}
		select {
		case sig := <-s.queue.Stops:
			s.takeStops(sig)
		case sig := <-s.queue.Others:
			s.takePendingStops() // they came before, or as good as before
			s.takeSignal(time.Now(), sig)
		case <-s.queue.Child:
			s.reap()
		case <-timer.C:
			s.takePendingStops()
			s.reap() // what has ended in time has ended in time, however late this is
			s.step(time.Now(), Event{Kind: TimePassed})
		}
	}
	s.job.ReturnTerminal(!s.worker.Gone() || s.worker.Exit.TermSignal() != 0)
	s.journal.end(s.killed, s.exitCode().Status)
}

// takePendingStops takes the stop signals that wait, and reports whether one did.
func (s *Supervisor) takePendingStops() bool {
	select {
	case sig := <-s.queue.Stops:
		s.takeStops(sig)
		return true
	default:
		return false
	}
}

// takeStops takes a stop signal and those that came while it was acted upon.
// All of them came when the first did, as far as can be known: however long
// acting takes on a busy machine, a double delivery stays one request.
func (s *Supervisor) takeStops(sig os.Signal) {
	s.queue.Hold(true)
	s.reap() // a worker that has ended needs no signal, and no force
	s.queue.Hold(false)
	now := time.Now()
	s.takeSignal(now, sig.(unix.Signal))
	for range cap(s.queue.Stops) { // no more than wait at a time
		select {
		case sig := <-s.queue.Stops:
			s.takeSignal(now, sig.(unix.Signal))
		default:
			return
		}
	}
}

// takeSignal steps the machine by the signal that came, before any rewrite; one
// that is rewritten to nothing has not come.
func (s *Supervisor) takeSignal(now time.Time, sig unix.Signal) {
	if s.cfg.Rewrites.Apply(sig) == signals.Drop {
		s.journal.dropped(sig)
		return
	}
	switch {
	case sig == unix.SIGCONT && s.job.Continued():
		return
	case sig == unix.SIGHUP && len(s.stops) > 0 && s.job.HungUp(): // no person can see or stop the worker
		s.journal.hungUp(sig, s.stops[0])
		if _, requested := s.machine.Requested(); requested {
			return // and no force-stop: it was not requested again
		}
		sig = s.stops[0]
	}
	s.step(now, Event{s.eventOf(sig), sig})
}

func (s *Supervisor) eventOf(sig unix.Signal) EventKind {
	switch {
	case slices.Contains(s.stops, sig):
		return StopSignaled
	case sig == unix.SIGTSTP && s.suspends():
		return SuspendSignaled
	case sig == unix.SIGTSTP:
		return QuietSignaled
	case sig == unix.SIGCONT:
		return ResumeSignaled
	}
	return OtherSignaled
}

// step steps the machine and does what it says.
func (s *Supervisor) step(now time.Time, e Event) {
	before := s.machine.Phase()
	actions := s.machine.Step(now, e)
	if s.machine.Phase() != before { // readiness falls before the worker is signalled
		s.publish()
	}
	for _, a := range actions {
		s.perform(now, a)
	}
	s.publish() // whether a worker that died in a drain has a successor is known now
}

// exitCode is how drainit ends: the worker's status, but never 0 where a stop was
// requested and something had to be killed.
func (s *Supervisor) exitCode() Outcome {
	remapped := func(status int) bool { return slices.Contains(s.cfg.RemapExit, status) }
	const interrupted = 128 + int(unix.SIGINT)
	status := statusKilled
	if s.worker.Gone() {
		status = s.worker.Exit.ExitStatus()
		if s.job.Interrupted() && !remapped(status) && !remapped(interrupted) {
			return Outcome{interrupted, true}
		}
		if _, requested := s.machine.Requested(); requested && s.killed.any && (status == 0 || remapped(status)) {
			status = statusKilled
		}
	}
	if remapped(status) {
		status = 0
	}
	return Outcome{Status: status}
}

const statusKilled = 128 + int(unix.SIGKILL)

// earlyExit is the exit of a worker that was never started, for a stop signal came first.
func earlyExit(sig unix.Signal) *exit {
	return &exit{WaitEvent: reaper.WaitEvent{Status: unix.WaitStatus(sig)}, At: time.Now()}
}

// snapshot is the System's, and keeps the worker's name, which it may change.
func (s *Supervisor) snapshot(w proc.Want) (*proc.Snapshot, error) {
	all, err := s.sys.Snapshot(w)
	if p, ok := all.Process(s.worker.PID); ok && !s.worker.Gone() && p.Comm != "" {
		s.worker.Comm = p.Comm
	}
	return all, err
}
