package inspect

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/health"
	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/sigqueue"
	"drainit/internal/spawn"
	"drainit/reaper"
	"drainit/supervisor"
)

// Rehearsal has the flags of drainit plan.
type Rehearsal struct {
	JSON           bool          // print the verdict for programs
	Settle         time.Duration // how long the same processes must have had the same handlers
	During, Check  string        // commands for sh(1), run right before the stop and after its end; "" for none
	AllowUncertain bool          // a verdict that is not certain has status 0, too
}

// Rehearse runs a worker until it is ready or has settled, stops it as the platform would, and prints the plan, what
// happened and the verdict on standard output, which the worker does not get. The status is the verdict's: 0 or 1;
// of a worker that can't be started it is that of supervisor.Run. The caller must be on the locked main thread.
func Rehearse(r Rehearsal, cfg supervisor.Config, queue *sigqueue.Queue, log *logx.Log, say func(line error)) supervisor.Outcome {
	stdout, _ := unix.FcntlInt(uintptr(unix.Stdout), unix.F_DUPFD_CLOEXEC, 3)
	_ = unix.Dup3(unix.Stderr, unix.Stdout, 0)
	d := &instance{system: linux(), stdout: os.NewFile(uintptr(stdout), "stdout"), say: say,
		config: func(int) (supervisor.Config, error) { return cfg, nil }}
	cfg.Record = new(supervisor.Record)
	dir, _ := os.Getwd() // drainit will be in another
	run := func(line string) int { return runLine(line, dir, cfg.Env) }
	over, began := make(chan struct{}), time.Now()
	var plan report
	var stopped time.Time
	var failed error
	directed := make(chan struct{})
	go func() {
		defer close(directed)
		if failed = d.settle(r, cfg.Ready, over); failed == nil && r.During != "" {
			if status := run(r.During); status != 0 {
				failed = fmt.Errorf("--during exited with status %d", status)
			}
		}
		if failed != nil && failed != errOver {
			_ = unix.Kill(os.Getpid(), unix.SIGTERM)
		} else if failed == nil {
			plan, stopped = d.stopAsPlanned(cfg)
			plan.watch(d.all, stopped, over)
		}
	}()
	outcome := supervisor.Run(cfg, queue, log)
	ended := time.Now()
	close(over)
	<-directed
	w := outcome.Worker
	switch {
	case w.PID == 0 || outcome.Interrupted: // a line says it
		return outcome
	case failed != nil && failed != errOver:
	case plan.Plan != nil:
		failed = nil
	case !stopped.IsZero():
		failed = errors.New("/proc does not show the processes")
	case outcome.Requested:
		failed = fmt.Errorf("a stop signal came after %s, before the processes had settled", logx.Round(ended.Sub(began)))
	default:
		failed = fmt.Errorf("%v %v after %s", &w, w.Exit, logx.Round(w.Exit.At.Sub(began)))
	}
	v := verdict{Verdict: noPlan, Status: statusNo, Worker: outcome.Status}
	if failed != nil {
		say(fmt.Errorf("no plan: %w", failed))
		v.Reasons = []reason{{Why: failed.Error()}}
	} else {
		plan.happened(cfg.Record)
		v = plan.judge(cfg, outcome)
		v.took(ended.Sub(stopped))
		if r.Check != "" {
			v.checked(run(r.Check))
		}
		v.conclude(r.AllowUncertain)
	}
	if err := v.print(d.stdout, r.JSON); err != nil {
		say(err)
		return supervisor.Outcome{Status: statusFailed}
	}
	return supervisor.Outcome{Status: v.Status}
}

// errOver is that the worker has ended, or its stop has begun, before its turn.
var errOver = io.EOF

// settle waits until the worker is ready, if that is asked for, or else until the same processes have had the same
// handlers for a time. If they change all the time it gives up waiting. The error is errOver, or one for people.
func (d *instance) settle(r Rehearsal, asked health.Condition, over <-chan struct{}) error {
	const changeFor, readyWithin = 10 * time.Second, 5 * time.Minute
	began, calm, last := time.Now(), time.Now(), ""
	for {
		select {
		case <-over:
			return errOver
		case <-time.After(50 * time.Millisecond):
		}
		d.drainit, _ = d.look(os.Getpid())
		now := time.Now()
		switch {
		case d.is.Phase > machine.Quiet:
			return errOver
		case asked != health.Condition{} && d.is.Ready():
			return nil
		case asked != health.Condition{} && now.Sub(began) >= readyWithin:
			return fmt.Errorf("the worker was not ready after %v", readyWithin)
		case asked != health.Condition{}:
			continue
		}
		all, _ := d.tree(os.Getpid(), nil, time.Second)
		these := logx.List(all.Descendants(os.Getpid()), func(p *proc.Process) string { return fmt.Sprint(p.ID, p.Handled, p.Ignored, p.Awaited) })
		if these != last && now.Sub(began) < changeFor+r.Settle {
			calm, last = now, these
		} else if now.Sub(calm) >= r.Settle {
			return nil
		}
	}
}

// stopAsPlanned makes the plan and sends drainit the stop signal, at a time that it returns: the zero one where a stop
// has begun already. Where the platform signals each process, it does so, too.
func (d *instance) stopAsPlanned(cfg supervisor.Config) (plan report, at time.Time) {
	if d.drainit, _ = d.look(os.Getpid()); d.is.Phase > machine.Quiet {
		return plan, at
	}
	plan, at = d.report(true, true), time.Now()
	stop := cfg.PlatformSignal()
	if all, _ := d.all(); cfg.Mode == forward.ModeNone {
		for _, p := range all.Descendants(d.PID) {
			_ = reaper.Signal(p.ID, stop, d.read)
		}
	}
	_ = unix.Kill(os.Getpid(), stop)
	return plan, at
}

// watch notes when each process of a plan has ended, until over. drainit itself knows it only of its children.
func (r *report) watch(look func() (*proc.Snapshot, error), began time.Time, over <-chan struct{}) {
	for going := true; going; {
		select {
		case <-over:
			going = false // it is the last look
		case <-time.After(50 * time.Millisecond):
		}
		all, _ := look()
		for i := range r.Processes {
			p := &r.Processes[i]
			if now, ok := all.Process(p.PID); p.EndedAfter == nil && (!ok || now.ID != p.id || !now.Alive()) {
				p.EndedAfter = new(logx.InTenths(time.Since(began)))
			}
		}
	}
}

// runLine runs a command line by sh(1), and returns its status, 127 where there is no sh. It comes through a pipe, as
// drainit's loop reaps every process.
func runLine(line, dir string, env []string) (status int) {
	r, w, err := os.Pipe()
	if err == nil {
		defer r.Close()
		attr := &syscall.ProcAttr{Dir: dir, Env: env, Files: []uintptr{0, 2, 2, w.Fd()}}
		_, err = syscall.ForkExec("/bin/sh", []string{"sh", "-c", `(exec 3>&-; eval "$0"); echo $? >&3`, line}, attr)
		_ = w.Close()
	}
	if err != nil {
		return spawn.StatusNotFound
	}
	text, _ := io.ReadAll(r)
	if status, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil { // the shell was killed
		return 128 + int(unix.SIGKILL)
	}
	return status
}
