// Package rehearse makes one real stop of a worker, as a platform would, and says what came of it.
//
// It starts another drainit with the worker, asks that for its plan, sends it the stop signal, and reads its
// log. Where the platform signals each process, it signals each of them. It must never choose a process that
// gets a signal, nor stop or continue one.
package rehearse

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/inspect"
	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/sigqueue"
	"drainit/internal/spawn"
	"drainit/internal/title"
	"drainit/internal/worker"
	"drainit/reaper"
	"drainit/supervisor"
)

// Flags has the flags of drainit plan.
type Flags struct {
	JSON          bool          // print the verdict for programs
	During, Check string        // commands for sh(1), right before the stop and after its end; "" for none
	Within        time.Duration // how long each of these may take
	Given         []string      // each flag and variable that set one of drainit's
	LogJSON       bool          // how its log is shown
	LogLevel      zapcore.Level
}

// rehearsal is one run of drainit plan.
type rehearsal struct {
	Flags
	stop
	queue   *sigqueue.Queue
	say     func(line error)
	read    proc.Reader
	drainit int                      // its pid
	stderr  *os.File                 // its standard error
	log     chan []line              // gets the whole log when drainit has ended
	ended   map[int]reaper.WaitEvent // the children that have ended
	asked   bool                     // a stop signal has come to this process
}

// Run runs a worker until it has settled, and stops it as the platform would. It prints the plan, what
// happened and the verdict on stdout. The worker gets standard error in place of that. The status is that of
// the verdict or, if the worker can't be started, that of drainit. The caller must be on the locked main
// thread.
func Run(
	flags Flags, cfg supervisor.Config, queue *sigqueue.Queue, stdout io.Writer, say func(line error),
) (status int) {
	r := &rehearsal{Flags: flags, stop: stop{cfg: cfg}, queue: queue, say: say}
	r.log, r.ended = make(chan []line, 1), make(map[int]reaper.WaitEvent)
	queue.Subscribe([]unix.Signal{unix.SIGTERM, unix.SIGINT}, nil)
	sigqueue.SurvivePipe()
	v := verdict{Verdict: noPlan, Status: 1, Reasons: []reason{}}
	err := r.start()
	if err == nil {
		err = r.decide(r.makeStop(), &v)
	}
	if err != nil {
		v.add(reason{Why: err.Error()})
		say(fmt.Errorf("no plan: %w", err))
	}
	if err := v.print(stdout, flags.JSON); err != nil {
		say(err)
		return spawn.StatusFailed
	}
	return v.Status
}

// start starts drainit, with its log to a pipe. drainit gets TERM when this process dies.
func (r *rehearsal) start() error {
	self, err := os.Executable()
	from, to, failed := os.Pipe()
	if err = cmp.Or(err, failed); err != nil {
		return err
	}
	isVariable := func(given string) bool { return !strings.HasPrefix(given, "--") }
	args := append([]string{self}, slices.DeleteFunc(slices.Clone(r.Given), isVariable)...)
	args = append(args, "--parent-death-signal=TERM", "--log-format=json", "--log-level=debug", "--")
	attr := &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 2, to.Fd()}}
	r.drainit, err = syscall.ForkExec(self, append(args, r.cfg.Command...), attr)
	_ = to.Close()
	r.stderr = from
	go r.readLog()
	return err
}

// turn waits for a moment, notes which children have ended, and passes a stop signal on to drainit.
func (r *rehearsal) turn() {
	time.Sleep(50 * time.Millisecond)
	for e, ok, _ := reaper.Wait(); ok; e, ok, _ = reaper.Wait() {
		if e.Terminated() {
			r.ended[e.PID] = e
		}
	}
	for len(r.queue.Stops) > 0 {
		<-r.queue.Stops
		if r.asked = true; r.lives(r.drainit) {
			_ = unix.Kill(r.drainit, unix.SIGTERM)
		}
	}
}

// lives reports whether a child has not been waited for.
func (r *rehearsal) lives(child int) bool {
	_, ended := r.ended[child]
	return !ended
}

// phase returns drainit's phase.
func (r *rehearsal) phase() machine.Phase {
	is, _ := r.read.Read(r.drainit)
	state, _ := title.Parse(is.Comm)
	return state.Phase
}

// going reports whether the worker runs, or is about to, and no stop has begun.
func (r *rehearsal) going() bool { return !r.asked && r.lives(r.drainit) && r.phase() <= machine.Quiet }

// makeStop makes the plan when the worker has settled, sends drainit the stop signal, and watches drainit to
// its end. The error is why the stop is none to judge by.
func (r *rehearsal) makeStop() error {
	err := r.settle()
	if err == nil && r.During != "" && r.going() {
		failed, none := r.run("--during", r.During)
		err = cmp.Or(none, failed)
	}
	for err == nil && r.plan == nil && r.going() { // on a busy machine it may take too long
		r.plan, r.rows = inspect.Foresee(r.drainit, r.cfg, r.say)
	}
	if r.going() {
		r.stopped = time.Now()
		r.playPlatform(r.cfg.PlatformSignal())
	}
	for ; r.lives(r.drainit); r.turn() {
		began := time.Now()
		all, failed := r.read.Tree(r.drainit, nil, time.Second/4)
		time.Sleep(4 * time.Since(began)) // leaves the processors to the stop
		for _, p := range r.rows {
			is, _ := all.Process(p.PID)
			if failed == nil && p.EndedAfter == nil && (is.ID != p.ID || !is.Alive()) {
				p.EndedAfter = new(logx.InTenths(time.Since(r.stopped)))
			}
		}
	}
	return err
}

// playPlatform sends the stop signal to drainit and, if the platform signals each process, to each below.
func (r *rehearsal) playPlatform(stop unix.Signal) {
	if all, _ := r.read.All(); r.cfg.Mode == forward.ModeNone {
		for _, p := range all.Descendants(r.drainit) {
			_ = reaper.Signal(p.ID, stop, r.read.Read)
		}
	}
	_ = unix.Kill(r.drainit, stop)
}

// decide makes the verdict or, as an error, returns why there is none. err is that of makeStop.
func (r *rehearsal) decide(err error, v *verdict) error {
	time.AfterFunc(2*time.Second, func() { _ = r.stderr.Close() }) // it may be held open
	log := <-r.log
	end := append([]line{{}}, log...)[len(log)]
	if v.Worker = end.number("status"); end.value("reason") == string(worker.ReasonNotStarted) {
		v.Status = v.Worker
	}
	switch {
	case err != nil:
		return err
	case end.value("event") != "ended":
		return errors.New("the log of drainit has no end")
	case r.asked:
		return errStopCame
	case r.stopped.IsZero() || end.value("request") == "":
		return fmt.Errorf("drainit ended before the stop: %s", end.value("msg"))
	}
	var failed error
	if r.Check != "" {
		if failed, err = r.run("--check", r.Check); err != nil {
			return err
		}
	}
	r.judge(v, r.Flags, log, end, failed)
	return nil
}

// errStopCame says that a stop signal has ended a rehearsal, or a command.
var errStopCame = errors.New("a stop signal has ended it")

// script runs the command line in $0. If drainit dies, the kernel sends the shell TERM (the parent-death
// signal), and the shell passes it on to its group.
const script = `trap 'trap "" TERM; kill 0' TERM; (eval "$0") & wait $!`

// run runs a command line by sh(1). name is the flag that gave the line. It returns why the command has
// failed, nil if its status is 0, or why it gives no answer: it could not be run, was killed, or has not
// ended within its time, or before a stop signal came.
func (r *rehearsal) run(name, line string) (failed, none error) {
	attr := &syscall.ProcAttr{Env: r.cfg.Env, Files: []uintptr{0, 2, 2}}
	attr.Sys = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGTERM}
	pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", script, line}, attr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for handsOver, end := r.going(), time.Now().Add(r.Within); r.lives(pid); r.turn() {
		switch {
		case r.asked:
			none = fmt.Errorf("%s: %w", name, errStopCame)
		case time.Now().After(end):
			none = fmt.Errorf("%s took longer than %v (--within)", name, r.Within)
		case !handsOver || r.going():
			continue
		}
		_ = unix.Kill(-pid, unix.SIGKILL)
		return nil, none
	}
	status := r.ended[pid].ExitStatus()
	if status != 0 {
		failed = fmt.Errorf("%s exited with status %d", name, status)
	}
	if status >= spawn.StatusNotExecutable { // or the shell's word for a signal
		return nil, failed
	}
	return failed, nil
}
