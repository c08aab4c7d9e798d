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
	"drainit/internal/journal"
	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/phase"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/sigqueue"
	"drainit/internal/term"
	"drainit/internal/title"
	"drainit/internal/watch"
	"drainit/internal/worker"
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
	machine *machine.Machine
	worker  *worker.Worker
	ledger  *forward.Ledger
	job     *term.Job // nil without a terminal
	journal *journal.Journal
	board   board
	killed  kill
	died    chan int // the pids of those that were watched; the queue is to wake the loop
	clues   clues
}

// board is what is published of drainit.
type board struct {
	health health.State
	title  string
	heard  bool // nothing that comes is lost: the title may say that the worker runs
	stop   stopTimes
	// The last quiet signal was handled by no process.
	unhandled bool
}

// stopTimes are those of the stop that drainit is in.
type stopTimes struct {
	signal unix.Signal // 0 where the worker exited by itself
	since  time.Time
	grace  time.Duration
}

// New returns a supervisor without a terminal.
func New(cfg Config, sys System, queue *sigqueue.Queue, log *logx.Log) *Supervisor {
	cfg.stops = stopSignals(cfg)
	s := &Supervisor{
		cfg: cfg, sys: sys, queue: queue,
		machine: machine.New(machine.Config{
			Grace: cfg.Grace, StopDelay: cfg.StopDelay,
			SecondStopIgnored: cfg.SecondStopIgnored, EndsWithWorker: cfg.Mode == forward.ModeWorker,
		}),
		worker: &worker.Worker{Comm: filepath.Base(cfg.Command[0])},
		ledger: forward.NewLedger(os.Getpid()),
		died:   make(chan int, 2*watch.Most),
	}
	s.journal = journal.New(log, s.machine, s.worker)
	return s
}

// stopSignals are all that begin the stop: one that is dropped has not come.
func stopSignals(cfg Config) []unix.Signal {
	all := append([]unix.Signal{unix.SIGTERM, unix.SIGINT}, cfg.StopSignals...)
	return slices.DeleteFunc(all, func(sig unix.Signal) bool { return cfg.Rewrites.Apply(sig) == signals.Drop })
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
		if _, requested := s.machine.Requested(); requested && s.killed.Any && (status == 0 || remapped(status)) {
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
func earlyExit(sig unix.Signal) *worker.Exit {
	return &worker.Exit{WaitEvent: reaper.WaitEvent{Status: unix.WaitStatus(sig)}, At: time.Now()}
}

// readWorker reads the worker's stat, and keeps its name, which it may change.
func (s *Supervisor) readWorker() (proc.Process, error) {
	p, err := s.sys.Read(s.worker.PID)
	s.keepName(p)
	return p, err
}

func (s *Supervisor) keepName(p proc.Process) {
	if p.PID == s.worker.PID && !s.worker.Gone() && p.Comm != "" {
		s.worker.Comm = p.Comm
	}
}

// publish shows those outside what has changed.
func (s *Supervisor) publish() {
	s.publishHealth()
	now := title.State{Phase: s.machine.Phase(), WorkerAlive: s.worker.Alive(), WorkerStopped: s.worker.Stopped, QuietUnhandled: s.board.unhandled}
	if text := title.Of(now); text != "" && text != s.board.title {
		s.board.title = text
		if s.board.heard || now.Phase != phase.Running {
			title.Set(text)
		}
	}
}

func (s *Supervisor) publishHealth() {
	s.board.health.Publish(s.machine.Phase(), s.worker.Alive(), s.worker.Stopped)
}

// publishStop shows those outside the stop and its times.
func (s *Supervisor) publishStop() {
	if s.machine.Phase() != phase.Draining {
		return
	}
	now := stopTimes{signal: s.machine.StopSignal(), grace: Forever}
	if at, requested := s.machine.Requested(); requested {
		now.since = at
	} else if s.worker.Gone() {
		now.since = s.worker.Exit.At
	}
	if end, ok := s.machine.GraceEnd(); ok {
		now.grace = end.Sub(now.since)
	}
	if now != s.board.stop {
		s.board.stop = now
		since := proc.SinceBoot() - time.Since(now.since)
		title.SetStop(proc.SecondThread(), title.Stop{Signal: now.signal, Since: since, Grace: now.grace})
	}
}

// stopSignal is the first that came, TERM where the worker exited by itself.
func (s *Supervisor) stopSignal() unix.Signal {
	if sig := s.machine.StopSignal(); sig != 0 {
		return sig
	}
	return unix.SIGTERM
}
