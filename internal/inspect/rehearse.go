package inspect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/sigqueue"
	"drainit/reaper"
	"drainit/supervisor"
)

// Rehearsal has the flags of drainit plan.
type Rehearsal struct {
	JSON           bool          // print the verdict for programs
	Settle         time.Duration // how long the same processes must have had the same handlers
	Hold           time.Duration // how long processes that drainit leaves to others are held, as if at work
	During, Check  string        // commands for sh(1), right before the stop and after its end; "" for none
	Within         time.Duration // how long each of these may take
	AllowUncertain bool          // a verdict that is not certain has status 0, too
}

// rehearsal is one run of drainit plan. direct runs in a goroutine beside drainit's loop. It leaves the plan,
// the time of the stop in stopped or, if there was no stop because of an error, that error in failed.
type rehearsal struct {
	Rehearsal
	*instance
	cfg       supervisor.Config
	dir       string          // where the commands run: drainit will be in another
	loop      context.Context // done when drainit's loop has ended
	plan      report
	unsettled bool                      // the processes were still changing
	came      map[proc.ID]time.Duration // when each process that was started in the stop was first seen
	stopped   time.Time
	failed    error
}

// Rehearse runs a worker until it is ready or has settled, and stops it as the platform would. It prints the
// plan, what happened and the verdict on standard output. The worker gets standard error in place of that.
// The status is that of the verdict, 0 or 1. If the worker can't be started, or drainit must die of INT, the
// outcome is that of supervisor.Run. The caller must be on the locked main thread.
func Rehearse(
	flags Rehearsal, cfg supervisor.Config, queue *sigqueue.Queue, log *logx.Log, say func(line error),
) supervisor.Outcome {
	stdout, _ := unix.FcntlInt(uintptr(unix.Stdout), unix.F_DUPFD_CLOEXEC, 3)
	_ = unix.Dup3(unix.Stderr, unix.Stdout, 0)
	cfg.Record = new(supervisor.Record)
	d := &instance{system: linux(), stdout: os.NewFile(uintptr(stdout), "stdout"), say: say}
	d.config = func(int) (supervisor.Config, error) { return cfg, nil }
	r := &rehearsal{Rehearsal: flags, instance: d, cfg: cfg, came: make(map[proc.ID]time.Duration)}
	r.dir, _ = os.Getwd()
	loop, end := context.WithCancel(context.Background())
	r.loop = loop
	began, beside := time.Now(), sync.WaitGroup{}
	beside.Go(r.direct)
	outcome := supervisor.Run(cfg, queue, log)
	ended := time.Now()
	end()
	beside.Wait()
	if outcome.Worker.PID == 0 || outcome.Interrupted { // a line says it
		return outcome
	}
	v, err := r.judge(outcome, began, ended)
	if err != nil {
		v = verdict{Verdict: noPlan, Worker: outcome.Status, Reasons: []*reason{{Why: err.Error()}}}
		v.Status = r.answer(statusNo, "no plan: %w", err)
	}
	return supervisor.Outcome{Status: r.print(v.Status, v, r.JSON, v.text())}
}

// direct makes the plan when the worker has settled, sends drainit the stop signal, and watches to the end.
func (r *rehearsal) direct() {
	runtime.LockOSThread() // as proc.ReadWhole asks for
	defer runtime.UnlockOSThread()
	settled, err := r.settle()
	if err == nil && settled && r.During != "" {
		err = r.run(r.loop, "--during", r.During)
	}
	r.failed = err
	switch {
	case errors.Is(err, errStopCame): // drainit has got it, and another would be its second
	case err != nil && r.going():
		_ = unix.Kill(os.Getpid(), r.cfg.PlatformSignal())
	case settled && r.going():
		r.stopAsPlanned()
		r.watch()
	}
}

// going reports whether the worker runs and no stop has begun.
func (r *rehearsal) going() bool {
	r.drainit, _ = r.look(os.Getpid())
	return r.loop.Err() == nil && r.is.Phase <= machine.Quiet
}

// stopAsPlanned makes the plan, holds what is to be held, and sends drainit the stop signal. If the platform
// signals each process, stopAsPlanned signals each below drainit, too.
func (r *rehearsal) stopAsPlanned() {
	for range 6 { // a read may take too long, on a busy machine
		if r.plan = r.report(true, true); r.plan.Plan != nil || !r.going() {
			break
		}
	}
	r.plan.unsettled, r.plan.inHand = r.unsettled, r.During != ""
	r.observe()
	r.hold()
	for n := 0; n < 10 && r.going(); n++ {
		time.Sleep(10 * time.Millisecond) // a shell with job control takes a job that stops for one that ends
	}
	if !r.going() {
		const advice = "--hold 0, with --during and --check"
		r.failed = errors.New("the worker ended when a process below it was held: " + advice)
		return
	}
	r.stopped = time.Now()
	stop := r.cfg.PlatformSignal()
	if all, _ := r.all(); r.cfg.Mode == forward.ModeNone {
		for _, p := range all.Descendants(r.PID) {
			_ = reaper.Signal(p.ID, stop, r.read)
		}
	}
	_ = unix.Kill(os.Getpid(), stop)
}

// judge returns the verdict or, as an error, why there is none. began and ended are the times at which
// drainit began and ended.
func (r *rehearsal) judge(outcome supervisor.Outcome, began, ended time.Time) (v verdict, err error) {
	if err = r.whyNoPlan(outcome, began); err != nil {
		return v, err
	}
	r.plan.addRecord()
	v = r.plan.judge(outcome)
	if r.Check != "" {
		err = r.run(context.Background(), "--check", r.Check)
	}
	if errors.Is(err, errStopCame) {
		return v, err
	}
	v.conclude(ended.Sub(r.stopped)-r.plan.waited, r.Check != "", err, r.AllowUncertain)
	return v, nil
}

// whyNoPlan returns why there is no plan, or no stop to judge, and nil if there are both. began is the time
// at which drainit began.
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
		const early = "a stop signal came after %s, before the processes had settled"
		return fmt.Errorf(early, logx.Round(time.Since(began)))
	}
	return fmt.Errorf("%v %v after %s", &w, w.Exit, logx.Round(w.Exit.At.Sub(began)))
}
