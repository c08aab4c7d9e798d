package inspect

import (
	"cmp"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/logx"
	"drainit/internal/phase"
	"drainit/internal/proc"
	"drainit/internal/sigqueue"
	"drainit/reaper"
	"drainit/supervisor"
)

// Rehearse is drainit plan. It runs a worker until the processes have settled, stops it as the platform would,
// and prints the plan with what happened. The status is 1 if a process was killed or the worker ended before
// the stop, else 0. The caller must be on the locked main thread.
func Rehearse(cfg supervisor.Config, queue *sigqueue.Queue, log *logx.Log, say func(line error)) supervisor.Outcome {
	stdout, _ := unix.FcntlInt(uintptr(unix.Stdout), unix.F_DUPFD_CLOEXEC, 0) // drainit lets go of its own
	d := &instance{system: linux(), stdout: os.NewFile(uintptr(stdout), "stdout"), say: say,
		config: func(int) (supervisor.Config, error) { return cfg, nil }}
	over, plans := make(chan struct{}), make(chan report)
	go func() { plans <- d.direct(cfg.PlatformSignal(), over) }()
	outcome := supervisor.Run(cfg, queue, log)
	close(over)
	plan := <-plans
	if plan.Plan == nil {
		say(errors.New("no plan: the worker ended, or was stopped, before the same processes had been there for a second, or /proc does not show them"))
		return supervisor.Outcome{Status: cmp.Or(outcome.Status, statusNo)}
	}
	_, _ = outcome.Notes.Seek(0, io.SeekStart)
	text, _ := io.ReadAll(outcome.Notes)
	plan.addNotes(string(text))
	_, _ = io.WriteString(d.stdout, "what happened, after each |:\n"+plan.planText())
	if strings.Contains(string(text), ": died of SIGKILL") {
		return supervisor.Outcome{Status: statusNo}
	}
	return supervisor.Outcome{}
}

// direct prints the plan and sends drainit the stop signal when the worker has settled, and notes which processes
// end, until over.
func (d *instance) direct(stop unix.Signal, over <-chan struct{}) (plan report) {
	const settled, atMost = time.Second, 10 * time.Second
	started, calm, last := time.Now(), time.Now(), ""
	for began, going := time.Now(), true; going; {
		select {
		case <-over:
			going = false // it is the last look
		case <-time.After(50 * time.Millisecond):
		}
		all, _ := d.all()
		now, these := time.Now(), logx.List(all.Descendants(os.Getpid()), (*proc.Process).String)
		switch {
		case plan.Plan != nil:
			for i := range plan.Processes {
				p := &plan.Processes[i]
				if now, ok := all.Process(p.PID); !ok || !now.Alive() {
					p.ended = cmp.Or(p.ended, " | "+logx.Round(time.Since(began))+": ended")
				}
			}
		case these != last && now.Sub(started) < atMost:
			calm, last = now, these
		case going && now.Sub(calm) >= settled:
			if d.drainit, _ = d.look(os.Getpid()); d.is.Phase > phase.Quiet { // a stop has begun
				return plan
			}
			if plan, began = d.report(true, true), time.Now(); plan.Plan != nil {
				_, _ = io.WriteString(d.stdout, plan.planText())
			}
			if cfg, _ := d.config(d.PID); cfg.Mode == forward.ModeNone { // as the platform does
				for _, p := range all.Descendants(d.PID) {
					_ = reaper.Signal(p.ID, stop, d.read)
				}
			}
			if _ = unix.Kill(os.Getpid(), stop); plan.Plan == nil { // /proc can't be read, which is said
				return plan
			}
		}
	}
	return plan
}
