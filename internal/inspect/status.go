package inspect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/title"
)

// report is the status, as JSON has it.
type report struct {
	Phase         string     `json:"phase"` // starting, running, quiet, draining or killing
	Ready         bool       `json:"ready"` // running, and the worker is not stopped
	WorkerAlive   bool       `json:"worker_alive"`
	WorkerStopped bool       `json:"worker_stopped,omitempty"`
	QuietHandled  *bool      `json:"quiet_handled,omitempty"` // in quiet
	StopSignal    string     `json:"stop_signal,omitempty"`
	StoppingSince string     `json:"stopping_since,omitempty"` // RFC 3339, UTC
	TimeLeft      *float64   `json:"left_s,omitempty"`         // to SIGKILL
	PID           int        `json:"pid"`                      // drainit's
	Processes     []reported `json:"processes"`
	Partial       bool       `json:"partial,omitempty"` // not all processes could be read
	// Of a plan, to which the signals and times belong that it goes by.
	Plan map[string]any `json:"plan,omitempty"`

	word     string        // the phase, for people
	stopping time.Duration // since the stop began
	stop     unix.Signal   // of a plan
}

// reported is a process below drainit.
type reported struct {
	PID   int     `json:"pid"`
	PPID  int     `json:"ppid"`
	Comm  string  `json:"comm"`  // escaped as in the log
	State string  `json:"state"` // a letter of proc(5)
	Age   float64 `json:"age_s"`

	OnStop  string `json:"on_stop,omitempty"`  // in a plan: what it does with the stop signal
	OnQuiet string `json:"on_quiet,omitempty"` // and with TSTP
	Stop    string `json:"stop,omitempty"`     // what a stop would do with it, or has done
	happened
	id       proc.ID
	indent   string
	foreseen forward.Foreseen
}

// status prints the status that is asked for.
func (d *instance) status(r Request) (status int) {
	now := d.report(r.JSON || !r.Ready, r.Plan)
	text := now.text()
	switch {
	case r.JSON:
		b, _ := json.Marshal(now) // numbers and strings never fail
		text = string(b) + "\n"
	case r.Ready: // no more than the phase: each new text is a new event to Kubernetes
		text = now.word + "\n"
	}
	if _, err := io.WriteString(d.stdout, text); err != nil {
		return d.answer(statusFailed, err)
	}
	if !now.WorkerAlive || r.Ready && !now.Ready {
		return statusNo
	}
	return 0
}

// report returns what the title says, and if whole, the processes below drainit and the stop, or a plan of one.
func (d *instance) report(whole, plan bool) report {
	is := d.is
	r := report{Phase: is.Phase.String(), Ready: is.Ready(), WorkerAlive: is.WorkerAlive, WorkerStopped: is.WorkerStopped, PID: d.PID, Processes: []reported{}}
	r.word = r.Phase
	if is.WorkerStopped {
		r.word += ", but the worker is stopped"
	}
	if is.Phase == machine.Quiet {
		r.QuietHandled = new(!is.QuietUnhandled)
	}
	if is.QuietUnhandled {
		r.word += ", but no process handled that, and the worker still takes work"
	}
	if whole {
		d.addProcesses(&r, plan)
	}
	return r
}

// addProcesses adds the processes below drainit, with the stop that it is in, or the plan of one. An unknown stop is
// not shown.
func (d *instance) addProcesses(r *report, plan bool) {
	second, _ := d.read(proc.SecondThread(d.PID)) // whose name tells
	draining, look := d.is.Phase >= machine.Draining, d.all
	var before *proc.Snapshot
	if plan = plan && !draining; plan {
		look = func() (*proc.Snapshot, error) { // which shows what has slept for a while
			before, _ = d.tree(d.PID, nil, time.Second)
			time.Sleep(100 * time.Millisecond)
			return d.tree(d.PID, before, time.Second)
		}
	}
	all, err := look()
	if err != nil {
		d.say(fmt.Errorf("cannot list the processes: %w", err))
		r.Partial = true
	}
	for _, p := range append(all.Descendants(d.PID), all.Hanging(d.PID)...) {
		r.Processes = append(r.Processes, reported{PID: p.PID, PPID: p.PPID, Comm: logx.Printable(p.Comm), State: string(p.State), Age: logx.InTenths(p.Age()), id: p.ID})
	}
	if draining {
		r.addStop(second.Comm, proc.SinceBoot(), time.Now())
		notes, err := proc.ReadOpen(d.PID, title.Notes)
		if err != nil {
			d.say(fmt.Errorf("cannot read what %s has decided: %w", d, err))
		}
		r.addNotes(notes)
	} else if plan && err == nil {
		d.addPlan(r, cmp.Or(before, all), all, second.Comm)
	}
}

// addStop adds the stop that is the name of drainit's second thread. sinceBoot and wall are now.
func (r *report) addStop(name string, sinceBoot time.Duration, wall time.Time) {
	stop, ok := title.ParseStop(name)
	if !ok || stop.Since > sinceBoot {
		return
	}
	r.stopping = sinceBoot - stop.Since
	r.StoppingSince = wall.Add(-r.stopping).UTC().Format("2006-01-02T15:04:05.0Z")
	if stop.Signal != 0 {
		r.StopSignal = signals.Name(stop.Signal)
	}
	if stop.Grace != machine.Forever && r.Phase == machine.Draining.String() {
		r.TimeLeft = new(logx.InTenths(max(0, stop.Grace-r.stopping)))
	}
}

// text is the status for people.
func (r report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: drainit[%d], ", r.word, r.PID)
	if !r.WorkerAlive {
		b.WriteString("the worker has ended, ")
	}
	if r.StopSignal != "" {
		fmt.Fprintf(&b, "%s %.1fs ago, ", r.StopSignal, r.stopping.Seconds())
	}
	if r.TimeLeft != nil {
		fmt.Fprintf(&b, "SIGKILL in %.1fs, ", *r.TimeLeft)
	}
	if r.Partial {
		b.WriteString("at least ")
	}
	fmt.Fprintf(&b, "%s below it\n", logx.Processes(len(r.Processes)))
	if r.Plan != nil {
		return b.String() + r.planText()
	}
	if len(r.Processes) > 0 {
		fmt.Fprintf(&b, "%7s %7s STATE %8s COMMAND\n", "PID", "PPID", "AGE")
	}
	for _, p := range r.Processes {
		if p.Stop != "" {
			p.Comm = fmt.Sprintf("%-15s %s", p.Comm, p.Stop)
		}
		fmt.Fprintf(&b, "%7d %7d %-5s %8s %s\n", p.PID, p.PPID, p.State, logx.Round(time.Duration(p.Age*1e9)), p.Comm)
	}
	return b.String()
}
