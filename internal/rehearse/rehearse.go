// Package rehearse makes one real stop of a worker, as a platform would, and says what came of it.
//
// It runs in the process of drainit, beside the loop, and asks that drainit for its plan. It sends drainit
// the stop signal and, where the platform signals each process, each of them. It ends its own commands. It
// must never choose a process that gets a signal, nor stop or continue one.
package rehearse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/inspect"
	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/sigqueue"
	"drainit/internal/spawn"
	"drainit/internal/title"
	"drainit/reaper"
	"drainit/supervisor"
)

// Flags has the flags of drainit plan.
type Flags struct {
	JSON          bool          // print the verdict for programs
	During, Check string        // commands for sh(1), right before the stop and after its end; "" for none
	Within        time.Duration // how long each of these may take
}

// rehearsal is one run of drainit plan. direct runs in a goroutine beside drainit's loop. It leaves the plan,
// the time of the stop or, if there was no stop because of an error, that error in failed.
type rehearsal struct {
	Flags
	stop
	say     func(line error)
	read    proc.Reader
	dir     string          // where the commands run: drainit will be in another
	loop    context.Context // done when drainit's loop has ended
	stopped time.Time
	failed  error
}

// Run runs a worker until it has settled, and stops it as the platform would. It prints the plan, what
// happened and the verdict on standard output. The worker gets standard error in place of that. The status is
// that of the verdict, 0 or 1. If the worker can't be started, or drainit must die of INT, the outcome is
// that of supervisor.Run. The caller must be on the locked main thread.
func Run(
	flags Flags, cfg supervisor.Config, queue *sigqueue.Queue, log *logx.Log, say func(line error),
) supervisor.Outcome {
	fd, _ := unix.FcntlInt(uintptr(unix.Stdout), unix.F_DUPFD_CLOEXEC, 3)
	_ = unix.Dup3(unix.Stderr, unix.Stdout, 0)
	stdout := os.NewFile(uintptr(fd), "stdout")
	cfg.Record = new(supervisor.Record)
	r := &rehearsal{Flags: flags, stop: stop{cfg: cfg}, say: say}
	r.dir, _ = os.Getwd()
	loop, end := context.WithCancel(context.Background())
	r.loop = loop
	beside := sync.WaitGroup{}
	beside.Go(r.direct)
	r.outcome = supervisor.Run(cfg, queue, log)
	r.took = time.Since(r.stopped)
	end()
	beside.Wait()
	if r.outcome.Worker.PID == 0 || r.outcome.Interrupted { // a line says it
		return r.outcome
	}
	v, err := r.decide()
	if err != nil {
		v = verdict{Verdict: noPlan, Status: 1, Worker: r.outcome.Status}
		v.Reasons = []*reason{note("", "%v", err)}
		say(fmt.Errorf("no plan: %w", err))
	}
	text := v.text()
	if r.JSON {
		b, _ := json.Marshal(v) // numbers and strings never fail
		text = string(b) + "\n"
	}
	if _, err := io.WriteString(stdout, text); err != nil {
		say(err)
		return supervisor.Outcome{Status: spawn.StatusFailed}
	}
	return supervisor.Outcome{Status: v.Status}
}

// direct stops the worker when it has settled, and watches to the end.
func (r *rehearsal) direct() {
	runtime.LockOSThread() // as proc.ReadWhole asks for, and a parent-death signal
	defer runtime.UnlockOSThread()
	err := r.settle()
	if err == nil && r.During != "" && r.going() {
		err = r.run(r.loop, "--during", r.During)
	}
	r.failed = err
	switch {
	case !r.going() || errors.Is(err, errStopCame): // another stop signal would be the second
	case err != nil:
		_ = unix.Kill(os.Getpid(), r.cfg.PlatformSignal())
	default:
		r.makeStop()
	}
}

// phase returns drainit's phase.
func (r *rehearsal) phase() machine.Phase {
	self, _ := r.read.Read(os.Getpid())
	state, _ := title.Parse(self.Comm)
	return state.Phase
}

// going reports whether the worker runs, or is about to, and no stop has begun.
func (r *rehearsal) going() bool { return r.loop.Err() == nil && r.phase() <= machine.Quiet }

// makeStop makes the plan, sends drainit the stop signal, and watches the stop. If the platform signals each
// process, makeStop signals each below drainit, too.
func (r *rehearsal) makeStop() {
	for n := 0; n < 6 && r.plan == nil && r.going(); n++ { // a read may take too long, on a busy machine
		var rows []*inspect.Row
		r.plan, rows = inspect.Foresee(os.Getpid(), r.cfg, r.say)
		r.rows = nil
		for _, p := range rows {
			r.rows = append(r.rows, &row{Row: p})
		}
	}
	watcher, these := reaper.NewWatcher(func() {}), []proc.ID(nil)
	for _, p := range r.rows {
		these = append(these, p.ID)
	}
	watcher.Set(these)
	if !r.going() {
		return
	}
	r.stopped = time.Now()
	stop := r.cfg.PlatformSignal()
	if all, _ := r.read.All(); r.cfg.Mode == forward.ModeNone {
		for _, p := range all.Descendants(os.Getpid()) {
			_ = reaper.Signal(p.ID, stop, r.read.Read)
		}
	}
	_ = unix.Kill(os.Getpid(), stop)
	r.watch(watcher.Died)
}

// watch notes when each process of the plan ends, until drainit's loop has ended. drainit itself learns that
// only of its children. After the time in which each should have its signal, watch notes which still sleep as
// they did before the stop.
func (r *rehearsal) watch(died <-chan int) {
	soon := time.After(r.cfg.StopDelay + inTime)
	for {
		select {
		case pid := <-died:
			if p := r.row(proc.ID{PID: pid}); p != nil {
				p.ended = time.Since(r.stopped)
			}
		case <-soon:
			if r.plan == nil {
				continue
			}
			all, _ := r.read.Tree(os.Getpid(), r.plan.All, time.Second/4)
			for _, p := range r.rows {
				now, ok := all.Process(p.PID)
				p.untouched = ok && now.ID == p.ID && now.Untouched
			}
		case <-r.loop.Done():
			return
		}
	}
}

// decide returns the verdict or, as an error, why there is none.
func (r *rehearsal) decide() (v verdict, err error) {
	w := r.outcome.Worker
	switch {
	case r.failed != nil:
		return v, r.failed
	case r.stopped.IsZero() && r.outcome.Requested:
		return v, errors.New("a stop signal came before the processes had settled")
	case r.stopped.IsZero():
		return v, fmt.Errorf("%v %v after %s", &w, w.Exit, logx.Round(w.Exit.At.Sub(w.Began)))
	case r.plan == nil:
		return v, errors.New("/proc does not show the processes")
	}
	if r.Check != "" {
		err = r.run(context.Background(), "--check", r.Check)
	}
	if errors.Is(err, errStopCame) {
		return v, err
	}
	return r.judge(r.Flags, err), nil
}
