// Package supervisor runs one worker and sees it, and the processes that it leaves, through quiet, drain and
// stop.
//
// It starts the worker, and owns the one loop that then reaps, signals and steps the machine. Beside its
// sleep (sigqueue.Queue.Sleep) the loop waits only for what has a bound: a read of /proc, a kill, and a stop
// of drainit itself at a terminal. It must never send a signal except in send. Package forward decides which
// process gets one. The loop chooses the mode (Supervisor.mode), which stopped processes are continued
// (continueStopped, unfreeze), and what the whole group gets, as from a terminal (SignalGroup).
package supervisor

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/diag"
	"drainit/internal/health"
	"drainit/internal/journal"
	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/sigqueue"
	"drainit/internal/spawn"
	"drainit/internal/term"
	"drainit/internal/title"
	"drainit/internal/worker"
	"drainit/reaper"
)

// Outcome says how drainit must end.
type Outcome struct {
	Status      int  // 0 to 255
	Interrupted bool // drainit must die of INT (term.EndByInterrupt)
}

// Supervisor is the loop. It is one goroutine, so nothing here needs a lock. It must run on the locked main
// thread, whose signal mask the worker inherits.
type Supervisor struct {
	cfg     Config
	stops   []unix.Signal // all signals that begin the stop
	sys     System
	queue   *sigqueue.Queue
	machine *machine.Machine
	worker  *worker.Worker
	history *forward.History
	job     *term.Job // nil without a terminal
	journal *journal.Journal

	// Of the step that the machine makes:
	shown *proc.Snapshot     // of all processes, nil for none
	made  []forward.Delivery // of the stop

	sends    unix.Signal // the stop signal that processes are sent, after the rewrite
	warnings diag.Stop

	public published
}

// New returns a supervisor without a terminal.
func New(cfg Config, sys System, queue *sigqueue.Queue, log *logx.Log) *Supervisor {
	dropped := func(sig unix.Signal) bool { return cfg.Rewrites.Apply(sig) == signals.Drop }
	stops := append([]unix.Signal{unix.SIGTERM, unix.SIGINT}, cfg.StopSignals...)
	s := &Supervisor{
		cfg: cfg, stops: slices.DeleteFunc(stops, dropped), sys: sys, queue: queue,
		machine: machine.New(machine.Config{
			Grace: cfg.Grace, Limit: cfg.Limit, StopDelay: cfg.StopDelay,
			SecondStopIgnored: cfg.SecondStopIgnored, EndsWithWorker: cfg.Mode == forward.ModeWorker,
		}),
		worker:  &worker.Worker{Comm: filepath.Base(cfg.Command[0])},
		history: forward.NewHistory(os.Getpid(), cfg.Forking),
		sends:   cfg.Delivered(unix.SIGTERM),
	}
	if cfg.ReadyPort == 0 {
		s.machine.Ready()
	}
	s.journal = journal.New(log, s.machine, s.worker, s.history)
	return s
}

// Run runs the worker to its end. The caller must be on the locked main thread. The log stays open.
func Run(cfg Config, queue *sigqueue.Queue, log *logx.Log) Outcome {
	s := New(cfg, linux(queue), queue, log)
	s.job = term.NewJob(term.Open(), queue, s)
	return s.run()
}

func (s *Supervisor) run() Outcome {
	if err := s.prepare(); err != nil {
		s.journal.NotStarted("cannot start: "+err.Error(), spawn.StatusFailed)
		return Outcome{Status: spawn.StatusFailed}
	}
	if s.stopBeforeStart() {
		return s.exitCode()
	}
	if err := s.startWorker(); err != nil {
		s.journal.NotStarted(err.Error(), err.Status)
		return Outcome{Status: err.Status}
	}
	s.queue.SubscribeRest()
	spawn.FinishSetup()
	s.started()
	s.loop()
	s.job.InterruptGroup()
	return s.exitCode()
}

// prepare sets up what the worker must find when it starts.
func (s *Supervisor) prepare() error {
	parent, at, beside := os.Getppid(), s.cfg.HealthAddr, 0
	if at != (health.Address{}) {
		beside++
	}
	if s.cfg.ReadyPort != 0 {
		beside++
	}
	if err := spawn.SetUp(beside); err != nil {
		return err
	}
	if at != (health.Address{}) {
		if err := health.Serve(at, &s.public.health); err != nil {
			return err
		}
	}
	stops := slices.Clone(s.stops)
	if s.cfg.forces(signals.ForceStop) {
		stops = append(stops, signals.ForceStop)
	}
	s.queue.Subscribe(stops, s.cfg.Rewrites.From())
	s.publish() // no stop signal is lost any longer
	if err := reaper.BecomeSubreaper(); err != nil {
		s.journal.Say(journal.NotAdopting, err)
	}
	if sig := s.cfg.ParentDeathSignal; sig != 0 {
		return spawn.WatchParent(parent, sig)
	}
	return nil
}

// stopBeforeStart reports whether a stop signal came before the worker was started. If so, it notes the exit
// status, and the worker must not be started.
func (s *Supervisor) stopBeforeStart() bool {
	if !s.queue.StopPending() {
		return false
	}
	sig := (<-s.queue.Stops).Signal
	by := sig
	if s.cfg.forces(sig) {
		by = unix.SIGKILL
	}
	s.worker.Exit = &worker.Exit{WaitEvent: reaper.WaitEvent{Status: unix.WaitStatus(by)}, At: time.Now()}
	s.job.RecordExit(sig, sig, sig, true) // as if the worker had died of it
	s.machine.Step(time.Now(), machine.Event{Kind: machine.StopSignaled, Signal: sig})
	s.journal.Say(journal.EndEarly, sig, worker.ReasonStop, s.exitCode().Status)
	return true
}

func (s *Supervisor) startWorker() *spawn.Error {
	s.journal.Say(journal.Settings, strings.Join(s.cfg.Given, " "), os.Getpid())
	if s.cfg.Warning != "" {
		s.journal.Say(journal.WorkersLimit, s.cfg.Warning)
	}
	for _, doubt := range s.cfg.Doubts {
		s.journal.Say(journal.DoubtfulSetting, doubt)
	}
	pid, err := s.sys.Start(spawn.Config{Command: s.cfg.Command, Env: s.cfg.Env, OnTerminal: s.job != nil})
	if failed, ok := err.(*spawn.Error); ok {
		return failed
	}
	s.worker.PID, s.worker.PGID, s.worker.Began = pid, pid, time.Now()
	if s.cfg.Mode == forward.ModeNone { // by the platform
		for _, sig := range s.stops {
			s.history.SentByPlatform(sig)
		}
	}
	s.history.Started(pid)
	s.warnings.Worker = pid
	s.job.Started(pid)
	if err != nil {
		s.journal.Say(journal.Unguarded, err)
	}
	return nil
}

// started publishes that the worker runs, and reaps what has ended since the start. If a process is left, it
// then warns of a parent of drainit that keeps stop signals from drainit.
func (s *Supervisor) started() {
	s.journal.Publish(title.Worker, s.worker.PID)
	s.happened(machine.Started)
	if s.cfg.ReadyPort != 0 {
		go s.awaitReady()
	}
	s.journal.Say(journal.Started)
	s.reap()
	if s.machine.Phase() != machine.Done {
		s.warnAbove()
	}
}

// exitCode returns how drainit ends: with the worker's status, or with 0 if that is to be reported as 0
// (RemapExit). 137 takes the place of 0 if a stop was requested and a process had to be killed. The status is
// also 137 if the worker has not been waited for. RemapExit may name 137, too.
func (s *Supervisor) exitCode() Outcome {
	const interrupted, killed = 128 + int(unix.SIGINT), 128 + int(unix.SIGKILL)
	remapped := func(status int) bool { return slices.Contains(s.cfg.RemapExit, status) }
	status := killed
	if s.worker.Gone() {
		status = s.worker.Exit.ExitStatus()
		if s.job.Interrupted() && !remapped(status) && !remapped(interrupted) {
			return Outcome{Status: interrupted, Interrupted: true}
		}
	}
	cut := s.machine.Requested() && s.worker.Kill.Happened()
	if cut && (status == 0 || remapped(status)) {
		status = killed
	}
	if remapped(status) {
		status = 0
	}
	return Outcome{Status: status}
}

// Pause reaps orphans, without a worker, until TERM, INT or ForceStop comes. The pause container of a pod
// does the same. As PID 1 it then waits until it is alone, since the kernel kills all others when it ends:
// for the default grace period at most, or until a second stop signal. Its title names no phase, so the
// subcommands pass it over and ask the drainits of the other containers.
func Pause(queue *sigqueue.Queue) error {
	if err := spawn.SetUp(0); err != nil {
		return err
	}
	queue.Subscribe([]unix.Signal{unix.SIGTERM, unix.SIGINT, signals.ForceStop}, nil)
	title.Set(title.Pause)
	if err := reaper.BecomeSubreaper(); err != nil {
		return err
	}
	queue.SubscribeRest()
	spawn.FinishSetup()
	var end time.Time // of the wait for the others, zero before the first stop signal
	isAlone := func() bool { return errors.Is(reaper.SignalNamespace(0), reaper.ErrGone) }
	for end.IsZero() || !isAlone() && time.Now().Before(end) {
		for reaped := true; reaped; {
			_, reaped, _ = reaper.Wait()
		}
		if queue.StopPending() {
			if stop := <-queue.Stops; os.Getpid() != 1 || stop.Signal == signals.ForceStop || !end.IsZero() {
				return nil
			}
			end = time.Now().Add(machine.DefaultGrace)
		}
		queue.Sleep(time.Now().Add(time.Second/20), !end.IsZero())
	}
	return nil
}
