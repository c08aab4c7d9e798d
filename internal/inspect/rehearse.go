package inspect

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
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

// rehearsal is one run of drainit plan. direct runs beside the loop, and leaves the plan, the time of the stop and why
// there was none.
type rehearsal struct {
	Rehearsal
	*instance
	cfg     supervisor.Config
	dir     string        // in which the commands run: drainit will be in another
	over    chan struct{} // closed when the loop has ended
	plan    report
	stopped time.Time
	failed  error
}

// Rehearse runs a worker until it is ready or has settled, stops it as the platform would, and prints the plan, what
// happened and the verdict on standard output, which the worker does not get. The status is the verdict's: 0 or 1;
// of a worker that can't be started it is that of supervisor.Run. The caller must be on the locked main thread.
func Rehearse(flags Rehearsal, cfg supervisor.Config, queue *sigqueue.Queue, log *logx.Log, say func(line error)) supervisor.Outcome {
	stdout, _ := unix.FcntlInt(uintptr(unix.Stdout), unix.F_DUPFD_CLOEXEC, 3)
	_ = unix.Dup3(unix.Stderr, unix.Stdout, 0)
	cfg.Record = new(supervisor.Record)
	r := &rehearsal{Rehearsal: flags, cfg: cfg, over: make(chan struct{})}
	r.instance = &instance{system: linux(), stdout: os.NewFile(uintptr(stdout), "stdout"), say: say,
		config: func(int) (supervisor.Config, error) { return cfg, nil }}
	r.dir, _ = os.Getwd()
	began, directed := time.Now(), make(chan struct{})
	go func() { r.direct(); close(directed) }()
	outcome := supervisor.Run(cfg, queue, log)
	ended := time.Now()
	close(r.over)
	<-directed
	if outcome.Worker.PID == 0 || outcome.Interrupted { // a line says it
		return outcome
	}
	v := verdict{Verdict: noPlan, Status: statusNo, Worker: outcome.Status}
	if err := r.whyNoPlan(outcome, began); err != nil {
		say(fmt.Errorf("no plan: %w", err))
		v.Reasons = []reason{{Why: err.Error()}}
	} else {
		r.plan.addRecord(cfg.Record)
		v = r.plan.judge(cfg, outcome)
		v.took(ended.Sub(r.stopped))
		if r.Check != "" {
			v.checked(r.run(r.Check))
		}
		v.conclude(r.AllowUncertain)
	}
	if err := v.print(r.stdout, r.JSON); err != nil {
		say(err)
		v.Status = statusFailed
	}
	return supervisor.Outcome{Status: v.Status}
}

// direct makes the plan when the worker has settled, sends drainit the stop signal, and watches to the end.
func (r *rehearsal) direct() {
	runtime.LockOSThread() // as proc.ReadWhole asks for
	defer runtime.UnlockOSThread()
	settled, err := r.settle()
	if err == nil && settled && r.During != "" {
		if status := r.run(r.During); status != 0 {
			err = fmt.Errorf("--during exited with status %d", status)
		}
	}
	r.failed = err
	switch {
	case err != nil:
		_ = unix.Kill(os.Getpid(), r.cfg.PlatformSignal())
	case settled && r.going():
		r.stopAsPlanned()
		r.watch()
	}
}

// whyNoPlan is nil where there is one.
func (r *rehearsal) whyNoPlan(outcome supervisor.Outcome, began time.Time) error {
	w := outcome.Worker
	switch {
	case r.failed != nil:
		return r.failed
	case r.plan.Plan != nil:
		return nil
	case !r.stopped.IsZero():
		return errors.New("/proc does not show the processes")
	case outcome.Requested:
		return fmt.Errorf("a stop signal came after %s, before the processes had settled", logx.Round(time.Since(began)))
	}
	return fmt.Errorf("%v %v after %s", &w, w.Exit, logx.Round(w.Exit.At.Sub(began)))
}

// going reports whether the worker runs and no stop has begun.
func (r *rehearsal) going() bool {
	select {
	case <-r.over:
		return false
	default:
		r.drainit, _ = r.look(os.Getpid())
		return r.is.Phase <= machine.Quiet
	}
}

// settle waits until the worker is ready, if that is asked for, or else until the same processes have had the same
// handlers for a time. If they change all the time it gives up waiting. settled is false where the worker has ended, or
// its stop has begun, before.
func (r *rehearsal) settle() (settled bool, err error) {
	const changeFor, readyWithin = 10 * time.Second, 5 * time.Minute
	self, awaited := os.Getpid(), r.cfg.Ready != health.Condition{}
	began, calm, last := time.Now(), time.Now(), ""
	for ; r.going(); time.Sleep(50 * time.Millisecond) {
		now := time.Now()
		switch {
		case awaited && r.is.Ready():
			return true, nil
		case awaited && now.Sub(began) >= readyWithin:
			return false, fmt.Errorf("the worker was not ready after %v", readyWithin)
		case awaited:
			continue
		}
		all, _ := r.tree(self, nil, time.Second)
		these := logx.List(all.Descendants(self), func(p *proc.Process) string { return fmt.Sprint(p.ID, p.Handled, p.Ignored, p.Awaited) })
		if these != last && now.Sub(began) < changeFor+r.Settle {
			calm, last = now, these
		} else if now.Sub(calm) >= r.Settle {
			return true, nil
		}
	}
	return false, nil
}

// stopAsPlanned makes the plan and sends drainit the stop signal. Where the platform signals each process, it does so,
// too.
func (r *rehearsal) stopAsPlanned() {
	r.plan, r.stopped = r.report(true, true), time.Now()
	stop := r.cfg.PlatformSignal()
	if all, _ := r.all(); r.cfg.Mode == forward.ModeNone {
		for _, p := range all.Descendants(r.PID) {
			_ = reaper.Signal(p.ID, stop, r.read)
		}
	}
	_ = unix.Kill(os.Getpid(), stop)
}

// watch notes when each process of the plan has ended. drainit itself knows it only of its children.
func (r *rehearsal) watch() {
	for going := true; going; {
		select {
		case <-r.over:
			going = false // it is the last look
		case <-time.After(50 * time.Millisecond):
		}
		all, _ := r.all()
		for i := range r.plan.Processes {
			p := &r.plan.Processes[i]
			if now, ok := all.Process(p.PID); p.EndedAfter == nil && (!ok || now.ID != p.id || !now.Alive()) {
				p.EndedAfter = new(logx.InTenths(time.Since(r.stopped)))
			}
		}
	}
}

// run runs a command line by sh(1), and returns its status, 127 where there is no sh. It comes through a pipe, as
// drainit's loop reaps every process.
func (r *rehearsal) run(line string) (status int) {
	answer, w, err := os.Pipe()
	if err == nil {
		defer answer.Close()
		attr := &syscall.ProcAttr{Dir: r.dir, Env: r.cfg.Env, Files: []uintptr{0, 2, 2, w.Fd()}}
		_, err = syscall.ForkExec("/bin/sh", []string{"sh", "-c", `(exec 3>&-; eval "$0"); echo $? >&3`, line}, attr)
		_ = w.Close()
	}
	if err != nil {
		return spawn.StatusNotFound
	}
	text, _ := io.ReadAll(answer)
	if status, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil { // the shell was killed
		return 128 + int(unix.SIGKILL)
	}
	return status
}
