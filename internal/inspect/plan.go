package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/diag"
	"drainit/internal/journal"
	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/title"
	"drainit/supervisor"
)

// addPlan adds what a stop would do with each process of a snapshot, which follows another one. second is the name of
// drainit's second thread.
func (d *instance) addPlan(r *report, before, all *proc.Snapshot, second string) {
	cfg, err := d.config(d.PID)
	if err != nil {
		d.say(fmt.Errorf("cannot read all settings of %s, and the plan goes by the others: %w", d, err))
	}
	pid, _ := strconv.Atoi(strings.TrimPrefix(second, title.Worker))
	stop, plan := foresee(d.PID, pid, cfg, before, all)
	quiet := cfg.Rewrites.Apply(unix.SIGTSTP)
	r.stop = stop
	above := make(map[int]string) // the pids from the top to each
	var hidden []proc.Process
	for i := range r.Processes {
		row := &r.Processes[i]
		above[row.PID] = above[row.PPID] + fmt.Sprintf("/%7d", row.PID)
		row.indent = strings.Repeat("  ", strings.Count(above[row.PPID], "/"))
		p, _ := all.Process(row.PID)
		row.Stop = "not known: it hangs in the kernel"
		if p.Alive() {
			row.foreseen = plan[p.ID]
			row.OnStop, row.OnQuiet, row.Stop = p.On(stop), p.On(quiet), words(cfg, stop, row.foreseen)
			if p.Exe == "" || !p.MasksKnown() {
				hidden = append(hidden, p)
			}
		}
	}
	if len(hidden) > 0 {
		d.say(fmt.Errorf("/proc does not tell all about %s: the plan may be another", logx.List(hidden, proc.Process.String)))
	}
	d.addStrangers(r, all, pid)
	slices.SortFunc(r.Processes, func(a, b reported) int { return strings.Compare(above[a.PID], above[b.PID]) })
	r.Plan = map[string]any{"stop_signal": signals.Name(stop), "quiet_signal": signals.Name(quiet)}
	if last, final := machine.Calls(cfg.Grace, cfg.Limit); cfg.Grace != machine.Forever {
		r.Plan["last_call_s"], r.Plan["final_call_s"], r.Plan["grace_s"] = last.Seconds(), final.Seconds(), cfg.Grace.Seconds()
	}
}

// foresee asks what drainit does at the platform's stop signal, and by which signal.
func foresee(self, worker int, cfg supervisor.Config, before, all *proc.Snapshot) (stop unix.Signal, plan map[proc.ID]forward.Foreseen) {
	ledger := forward.NewLedger(self, cfg.Forking)
	ledger.Started(worker)
	if p, ok := all.Process(worker); !ok || !p.Alive() {
		ledger.Exited(worker, 0)
	}
	request := cfg.Request(forward.Stop, cfg.PlatformSignal(), proc.Ticks())
	if adopted, ok := cfg.Adopted(self, cfg.PlatformSignal(), all); ok {
		request.Signal = adopted
	}
	return request.Signal, ledger.Foresee(request, before, all)
}

// addStrangers says of the processes that did not come from the worker that they did not.
func (d *instance) addStrangers(r *report, all *proc.Snapshot, worker int) {
	environ := func(pid int) ([]byte, error) {
		text, err := d.file(pid, "environ")
		return []byte(text), err
	}
	for _, p := range diag.Strangers(all, d.PID, worker, environ) {
		at := slices.IndexFunc(r.Processes, func(row reported) bool { return row.PID == p.PID })
		r.Processes[at].Stop += "; " + journal.Stranger
	}
}

// words are what a stop would do with a process.
func words(cfg supervisor.Config, stop unix.Signal, f forward.Foreseen) string {
	words, otherwise, when := f.Rule, "", "now"
	if cfg.StopDelay > 0 {
		when = fmt.Sprintf("after the stop delay of %v", cfg.StopDelay)
	}
	if f.Now && f.Signal != stop {
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
	return fmt.Sprintf("%s; %sat the latest %v before SIGKILL", words, otherwise, beforeKill(cfg, f.Else))
}

// beforeKill is how long before SIGKILL a call comes.
func beforeKill(cfg supervisor.Config, call forward.Purpose) time.Duration {
	last, final := machine.Calls(cfg.Grace, cfg.Limit)
	if call == forward.LastCall {
		return cfg.Grace - last
	}
	return cfg.Grace - final
}

// head is the line about a stop's times.
func (r report) head() string {
	ends := "no SIGKILL, as the grace period is infinite"
	if r.Plan["grace_s"] != nil {
		ends = fmt.Sprintf("the last call after %vs, the final call after %vs, SIGKILL after %vs", r.Plan["last_call_s"], r.Plan["final_call_s"], r.Plan["grace_s"])
	}
	return fmt.Sprintf("a stop by %v: %s\n", r.Plan["stop_signal"], ends)
}

// planText is the plan for people.
func (r report) planText() string {
	text := fmt.Appendf([]byte(r.head()), "%7s %-10v %-10v %-20s STOP\n", "PID", r.Plan["stop_signal"], r.Plan["quiet_signal"], "COMMAND")
	for _, p := range r.Processes {
		text = fmt.Appendf(text, "%7d %-10s %-10s %-20s %s\n", p.PID, p.OnStop, p.OnQuiet, p.indent+p.Comm, p.Stop)
	}
	return string(text)
}

// addNotes adds the notes about each process (title.Notes): what drainit has done with it, or why nothing.
func (r *report) addNotes(text string) {
	notes := make(map[string]string)
	for line := range strings.Lines(text) {
		id, words, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		notes[id] += " | " + words
	}
	for i := range r.Processes {
		p := &r.Processes[i]
		p.Stop += notes[fmt.Sprint(p.id)] + notes[fmt.Sprint(proc.ID{PID: p.PID})] // of an end drainit knows the pid alone
		p.Stop = strings.TrimPrefix(p.Stop, " | ")
	}
}
