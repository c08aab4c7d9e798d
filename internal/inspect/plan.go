package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/supervisor"
)

// Plan has the signals and times that a plan goes by.
type Plan struct {
	FinalCall   *float64 `json:"final_call_s,omitempty"` // after the stop signal; nil where Grace is infinite
	Grace       *float64 `json:"grace_s,omitempty"`
	LastCall    *float64 `json:"last_call_s,omitempty"`
	QuietSignal string   `json:"quiet_signal"`
	StopSignal  string   `json:"stop_signal"`

	Stop unix.Signal `json:"-"`
}

// Foresee returns the plan of a stop by these settings for the drainit with this pid, and the processes below
// it. It returns nil if a stop has begun, or if it can't list the processes. It calls say with each line for
// people.
func Foresee(pid int, cfg supervisor.Config, say func(line error)) (*Plan, []*Row) {
	d := &instance{system: linux(), say: say}
	d.config = func(int) (supervisor.Config, error) { return cfg, nil }
	d.drainit, _ = d.look(pid)
	r := d.report(true, true)
	return r.Plan, r.Processes
}

// addPlan adds to the report what a stop would do with each process. before is a snapshot from before the
// report's own, to compare with. pid is the worker's, "" if that is not known.
func (d *instance) addPlan(r *report, before *proc.Snapshot, pid string) {
	var err error
	if r.cfg, err = d.config(d.PID); err != nil {
		d.sayf("cannot read all settings of %s, and the plan goes by the others: %w", d, err)
	}
	worker, _ := strconv.Atoi(pid)
	foreseen := r.foresee(worker, before)
	quiet := r.cfg.Rewrites.Apply(unix.SIGTSTP)
	var hidden []proc.Process
	for _, p := range r.Processes {
		p.Stop = "not known: it hangs in the kernel"
		if p.Alive() {
			p.OnStop, p.OnQuiet, p.Stop = p.On(r.stop), p.On(quiet), r.words(foreseen[p.ID])
			if p.Exe == "" || !p.MasksKnown() {
				hidden = append(hidden, p.Process)
			}
		}
	}
	if len(hidden) > 0 {
		these := logx.List(hidden, proc.Process.String)
		d.sayf("/proc does not tell all about %s: the plan may be another", these)
	}
	r.arrange()
	p := &Plan{Stop: r.stop}
	p.StopSignal, p.QuietSignal = signals.Name(r.stop), signals.Name(quiet)
	grace := r.cfg.Grace
	if last, final := machine.Calls(grace, r.cfg.Limit); grace != machine.Forever {
		p.LastCall, p.FinalCall, p.Grace = new(last.Seconds()), new(final.Seconds()), new(grace.Seconds())
	}
	r.Plan = p
}

// foresee returns what drainit would do with each process at the platform's stop signal, and sets stop to the
// signal that it would send. worker is the worker's pid, 0 if that is not known. before is a snapshot that
// was taken before that of the report.
func (r *report) foresee(worker int, before *proc.Snapshot) map[proc.ID]forward.Simulated {
	history, came := forward.NewHistory(r.PID, r.cfg.Forking), r.cfg.PlatformSignal()
	history.Started(worker)
	if p, ok := r.all.Process(worker); !ok || !p.Alive() {
		history.Exited(worker, 0)
	}
	r.stop = r.cfg.Delivered(came)
	if adopted, ok := r.cfg.Adopted(r.PID, came, r.all); ok {
		r.stop = adopted
	}
	return history.Simulate(r.cfg.Request(forward.Stop, r.stop, proc.Ticks(), r.cfg.Grace), before, r.all)
}

// arrange sorts the processes so that each comes below its parent, indented.
func (r *report) arrange() {
	path := make(map[int]string) // by pid, the pids from the top to it
	for _, p := range r.Processes {
		p.Indent = strings.Repeat("  ", strings.Count(path[p.PPID], "/"))
		path[p.PID] = path[p.PPID] + fmt.Sprintf("/%7d", p.PID)
	}
	slices.SortFunc(r.Processes, func(a, b *Row) int { return strings.Compare(path[a.PID], path[b.PID]) })
}

// words returns for people what a stop would do with a process.
func (r *report) words(f forward.Simulated) string {
	cfg, words, otherwise, when := r.cfg, f.Rule, "", "now"
	if cfg.StopDelay > 0 {
		when = fmt.Sprintf("after the stop delay of %v", cfg.StopDelay)
	}
	if f.Now && f.Signal != r.stop {
		when = signals.Name(f.Signal) + " " + when
	}
	switch {
	case f.Now && f.Else != forward.Stop:
		words, otherwise = fmt.Sprintf("%s, if asleep (%s)", when, words), "if busy, "
	case f.Now && f.Busy != "":
		words = fmt.Sprintf("%s, if asleep (%s); if busy, left alone: %s", when, words, f.Busy)
	case f.Now:
		words = when + ": " + words
	case f.Delegated:
		words += "; at once if that ends without passing it on"
	}
	call, final := machine.Calls(cfg.Grace, cfg.Limit)
	if f.Else != forward.LastCall {
		call = final
	}
	switch {
	case cfg.Grace == 0:
		return "killed at once: the grace period is 0"
	case cfg.Mode == forward.ModeWorker && !f.Now:
		return "never, as --forward worker says: killed when the worker has gone"
	case f.Else == forward.Stop:
		return words
	case cfg.Grace == machine.Forever:
		return words + "; " + cmp.Or(otherwise, "else ") + "never: the grace period is infinite"
	}
	return fmt.Sprintf("%s; %sat the latest %v before SIGKILL", words, otherwise, cfg.Grace-call)
}

// Head returns the line about the signal and the times of a stop.
func (p *Plan) Head() string {
	ends := "no SIGKILL, as the grace period is infinite"
	if p.Grace != nil {
		const calls = "the last call after %vs, the final call after %vs, SIGKILL after %vs"
		ends = fmt.Sprintf(calls, *p.LastCall, *p.FinalCall, *p.Grace)
	}
	return fmt.Sprintf("a stop by %s: %s\n", p.StopSignal, ends)
}

func (r report) addPlanTo(b *page) {
	const columns = "%7v %-10v %-10v %-20v %v\n"
	b.add("%s", r.Plan.Head())
	b.add(columns, "PID", r.Plan.StopSignal, r.Plan.QuietSignal, "COMMAND", "STOP")
	for _, p := range r.Processes {
		b.add(columns, p.PID, p.OnStop, p.OnQuiet, p.Indent+p.Comm, p.Stop)
	}
}
