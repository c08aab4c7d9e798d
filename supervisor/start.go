package supervisor

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/health"
	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/phase"
	"drainit/internal/signals"
	"drainit/internal/sigqueue"
	"drainit/internal/spawn"
	"drainit/internal/term"
	"drainit/internal/watch"
	"drainit/internal/worker"
	"drainit/reaper"
)

// Run runs the worker to its end. It must be called on the locked main thread; the log
// stays open.
func Run(cfg Config, queue *sigqueue.Queue, log *logx.Log) Outcome {
	sys := new(linux)
	sys.watcher = watch.Watcher{Wake: queue.Wake}
	s := New(cfg, sys, queue, log)
	s.job = term.NewJob(term.Open(), queue, s)
	outcome := s.run()
	s.journal.WriteMessage(s.cfg.TerminationLog)
	return outcome
}

// run runs the worker to its end.
func (s *Supervisor) run() Outcome {
	if err := s.prepare(); err != nil {
		s.journal.NotStarted("cannot start: " + err.Error())
		return Outcome{Status: spawn.StatusFailed}
	}
	if s.stopBeforeStart() {
		return s.exitCode()
	}
	if err := s.startWorker(); err != nil {
		s.journal.NotStarted(err.Error())
		return Outcome{Status: err.Status}
	}
	s.queue.SubscribeRest()
	spawn.Settle()
	s.begin()
	s.loop()
	s.job.InterruptGroup()
	return s.exitCode()
}

// prepare sets up what the worker must find when it starts.
func (s *Supervisor) prepare() error {
	parent := os.Getppid()
	if err := spawn.SetUp(); err != nil {
		return err
	}
	if at := s.cfg.HealthAddr; at.Given() {
		if err := health.Serve(at, &s.health); err != nil {
			return err
		}
	}
	s.queue.Subscribe(s.cfg.stops, s.cfg.Rewrites.From())
	s.publish() // no stop signal is lost any longer
	if err := reaper.BecomeSubreaper(); err != nil {
		return err
	}
	if sig := s.cfg.ParentDeathSignal; sig != 0 {
		if err := spawn.WatchParent(parent, sig); err != nil {
			return err
		}
	}
	return nil
}

// stopBeforeStart reports whether a stop signal has come already: then the
// worker is not started, for it could not be signalled in time.
func (s *Supervisor) stopBeforeStart() bool {
	if !s.queue.StopPending() {
		return false
	}
	sig := (<-s.queue.Stops).Signal
	s.worker.Exit = &worker.Exit{WaitEvent: reaper.WaitEvent{Status: unix.WaitStatus(sig)}, At: time.Now()}
	s.job.RecordExit(sig, sig, sig, signals.SetOf(sig)) // as if the worker had died of it
	s.machine.Step(time.Now(), machine.Event{Kind: machine.StopSignaled, Signal: sig})
	s.journal.StoppedEarly(sig)
	return true
}

func (s *Supervisor) startWorker() *spawn.Error {
	if s.journal.Log.Verbose() {
		s.journal.Settings(s.cfg.String())
	}
	pid, err := s.sys.Start(spawn.Config{Command: s.cfg.Command, Env: s.cfg.Env, OnTerminal: s.job != nil, OnDeath: unix.SIGTERM})
	if failed, ok := err.(*spawn.Error); ok {
		return failed
	}
	s.worker.PID, s.worker.PGID = pid, pid
	s.job.Started(pid)
	if err != nil {
		s.journal.Log.Warn(err.Error())
	}
	return nil
}

// begin publishes that the worker runs, when nothing that comes is lost any longer, and warns
// of what is above drainit, unless the worker has ended by then.
func (s *Supervisor) begin() {
	s.step(time.Now(), machine.Event{Kind: machine.Started})
	s.journal.Started()
	if s.sys.HasExited(s.worker.PID) {
		s.reap()
	}
	if s.machine.Phase() != phase.Done {
		s.warnParent()
	}
}
