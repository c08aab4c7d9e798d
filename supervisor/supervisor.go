// Package supervisor runs one worker and sees it, and what it leaves behind, through
// quiet, drain and stop: it decides when.
//
// It owns the phases and the one loop that forks, reaps, signals and steps the machine.
// It must never block but in that loop's sleep (sigqueue.Queue.Sleep), send a signal except in
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
	"drainit/internal/watch"
	"drainit/internal/worker"
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

	died          chan int       // the pids of those that were watched; the queue is to wake the loop
	shown         *proc.Snapshot // that this step has taken for orphans; nil for none
	killed        journal.Kill
	nextForceLook time.Time
	atWork        map[int]clue // the processes at work when the stop began, by pid

	// What is published.
	health    health.State
	title     string
	unhandled bool // the last quiet signal was handled by no process
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
		atWork: make(map[int]clue),
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

// stopSignal is the first that came, TERM where the worker exited by itself.
func (s *Supervisor) stopSignal() unix.Signal {
	if sig := s.machine.StopSignal(); sig != 0 {
		return sig
	}
	return unix.SIGTERM
}

// MaySuspend reports whether drainit may stop for a shell (term.Owner).
func (s *Supervisor) MaySuspend() bool {
	now := s.machine.Phase()
	return (now == phase.Running || now == phase.Quiet) && !s.worker.Gone()
}

// Members returns the living processes of a process group (term.Owner).
func (s *Supervisor) Members(pgid int) []*proc.Process {
	all, _ := s.sys.All()
	return all.Group(pgid)
}
