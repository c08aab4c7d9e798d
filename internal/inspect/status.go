package inspect

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/title"
	"drainit/supervisor"
)

// report is the status, as JSON has it.
type report struct {
	Phase         string   `json:"phase"` // starting, running, quiet, draining or killing
	Ready         bool     `json:"ready"` // running, and the worker is not stopped
	WorkerAlive   bool     `json:"worker_alive"`
	WorkerStopped bool     `json:"worker_stopped,omitempty"`
	QuietHandled  *bool    `json:"quiet_handled,omitempty"` // in quiet
	StopSignal    string   `json:"stop_signal,omitempty"`
	StoppingSince string   `json:"stopping_since,omitempty"` // RFC 3339, UTC
	TimeLeft      *float64 `json:"left_s,omitempty"`         // to SIGKILL
	PID           int      `json:"pid"`                      // drainit's
	Processes     []*Row   `json:"processes"`
	Partial       bool     `json:"partial,omitempty"` // not all processes could be read
	Plan          *Plan    `json:"plan,omitempty"`

	word     string        // the phase, for people
	stopping time.Duration // how long ago the stop began
	all      *proc.Snapshot
	cfg      supervisor.Config // of a plan, or of a start
	stop     unix.Signal       // of a plan
}

// Row is a process below drainit, in the status and in a plan.
type Row struct {
	PID   int     `json:"pid"`
	PPID  int     `json:"ppid"`
	Comm  string  `json:"comm"`  // escaped as in the log
	State string  `json:"state"` // a letter of proc(5)
	Age   float64 `json:"age_s"`

	OnStop  string `json:"on_stop,omitempty"`  // in a plan or a stop: what it does with the stop signal
	OnQuiet string `json:"on_quiet,omitempty"` // in a plan: what it does with the quiet signal
	Stop    string `json:"stop,omitempty"`     // what a stop would do with it, or has done

	// Of a rehearsal:
	Sent       string   `json:"sent,omitempty"` // the stop signal that drainit sent it
	SentAfter  *float64 `json:"sent_after_s,omitempty"`
	EndedAfter *float64 `json:"ended_after_s,omitempty"`
	ExitStatus *int     `json:"exit_status,omitempty"` // if drainit has waited for it; 128+n for signal n
	DiedOf     string   `json:"-"`                     // a signal, if drainit has waited for it

	proc.Process `json:"-"` // as it was in the plan
	Indent       string     `json:"-"` // blanks, by which it stands below its parent
}

// status prints the status that is asked for, and returns the exit status. It is 1 if, with Ready, the worker
// takes no work.
func (d *instance) status(r Request) (status int) {
	now := d.report(r.JSON || !r.Ready, r.Plan)
	text := now.text()
	if r.Ready { // no more than the phase: each new text is a new event to Kubernetes
		text = now.word + "\n"
	}
	if r.Ready && !now.Ready {
		status = statusNo
	}
	return d.print(status, now, r.JSON, text)
}

// print writes an answer, as JSON or as this text. It returns status, or that of a failure if it can't write.
func (d *instance) print(status int, answer any, asJSON bool, text string) int {
	if asJSON {
		b, _ := json.Marshal(answer) // numbers and strings never fail
		text = string(b) + "\n"
	}
	if _, err := io.WriteString(d.stdout, text); err != nil {
		return d.answer(statusFailed, "%w", err)
	}
	return status
}

// report returns what the title says. If whole is set, it adds the processes below drainit and the stop that
// drainit is in. If plan is set, too, and no stop has begun, it adds the plan of one.
func (d *instance) report(whole, plan bool) report {
	is := d.is
	r := report{Phase: is.Phase.String(), Ready: is.Ready(), PID: d.PID, Processes: []*Row{}}
	r.WorkerAlive, r.WorkerStopped, r.word = is.WorkerAlive, is.WorkerStopped, r.Phase
	if is.WorkerStopped {
		r.word += ", but the worker is stopped"
	}
	r.word += [...]string{"", ", but no process handled that, and the worker still takes work",
		", but which processes handle that is not known, and none was sent it",
		", and no CONT ends that", ", and no CONT ends that"}[is.Quiet]
	if is.Phase == machine.Quiet && is.Quiet != title.Unknown {
		r.QuietHandled = new(is.Quiet != title.Unhandled)
	}
	if whole && is.Phase == machine.Starting {
		r.cfg, _ = d.config(d.PID)
	}
	if whole {
		d.addProcesses(&r, plan)
	}
	return r
}

// addProcesses adds the processes below drainit. It adds the stop that drainit is in or, if plan is set and
// there is none, the plan of one. Both need drainit's notes, which only a process that may trace drainit can
// read.
func (d *instance) addProcesses(r *report, plan bool) {
	draining := d.is.Phase >= machine.Draining
	var before *proc.Snapshot
	var err error
	if plan = plan && !draining; plan { // two snapshots show what has slept for a while
		before, _ = d.tree(d.PID, nil, time.Second)
		time.Sleep(100 * time.Millisecond)
		r.all, err = d.tree(d.PID, before, time.Second)
	} else {
		r.all, err = d.tree(d.PID, nil, time.Second)
	}
	if err != nil {
		d.sayf("cannot list the processes: %w", err)
		r.Partial = true
	}
	for _, p := range append(r.all.Descendants(d.PID), r.all.Hanging(d.PID)...) {
		shown := &Row{Process: *p, PID: p.PID, PPID: p.PPID, Comm: logx.Printable(p.Comm)}
		shown.State, shown.Age = string(p.State), logx.InTenths(p.Age())
		r.Processes = append(r.Processes, shown)
	}
	if !draining && (!plan || err != nil) {
		return
	}
	notes, err := d.open(d.PID, title.Notes)
	if err == nil && notes == "" {
		err = errors.New("it could make no file in memory")
	}
	if err != nil {
		d.sayf("cannot read what %s has decided: %w", d, err)
		return
	}
	if of := byKey(notes); draining {
		r.addNotes(of, r.addStop(last(of[title.Stopping]), proc.SinceBoot(), time.Now()))
	} else {
		d.addPlan(r, cmp.Or(before, r.all), last(of[title.Worker]))
	}
}

// byKey returns the texts of the notes, in their order, by their keys (title.Notes).
func byKey(notes string) map[string][]string {
	texts := make(map[string][]string)
	for line := range strings.Lines(notes) {
		key, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		texts[key] = append(texts[key], text)
	}
	return texts
}

func last(texts []string) string { return append([]string{""}, texts...)[len(texts)] }

// addStop adds the stop that a note describes (title.Stop), and returns the signal that processes are sent
// for it. A text that describes no stop adds nothing. sinceBoot and wall are the present time by two clocks.
func (r *report) addStop(note string, sinceBoot time.Duration, wall time.Time) unix.Signal {
	stop, ok := title.ParseStop(note)
	if !ok || stop.Since > sinceBoot {
		return 0
	}
	r.stopping = sinceBoot - stop.Since
	r.StoppingSince = wall.Add(-r.stopping).UTC().Format("2006-01-02T15:04:05.0Z")
	if stop.Signal != 0 {
		r.StopSignal = signals.Name(stop.Signal)
	}
	if stop.Grace != machine.Forever && r.Phase == machine.Draining.String() {
		r.TimeLeft = new(logx.InTenths(max(0, stop.Grace-r.stopping)))
	}
	return stop.Sends
}

// addNotes adds the notes about each process: what drainit has done with it, or why nothing. Behind them
// stands what it does with the stop signal, unless it handles that.
func (r *report) addNotes(notes map[string][]string, stop unix.Signal) {
	does := map[string]string{
		proc.Dies: "has no %s handler", proc.Ignores: "ignores %s", proc.Blocks: "blocks %s",
	}
	for _, p := range r.Processes { // the note of an end has the pid alone
		of := append(notes[fmt.Sprint(p.ID)], notes[fmt.Sprint(proc.ID{PID: p.PID})]...)
		p.OnStop = p.On(stop)
		if words := does[p.OnStop]; words != "" && p.Alive() {
			of = append(of, fmt.Sprintf(words, signals.Name(stop)))
		}
		p.Stop = strings.Join(of, " | ")
	}
}

// page is a text that grows.
type page struct{ strings.Builder }

func (p *page) add(format string, args ...any) { fmt.Fprintf(p, format, args...) }

// text is the status for people.
func (r report) text() string {
	var b page
	b.add("%s: drainit[%d], ", r.word, r.PID)
	if !r.WorkerAlive {
		b.add("the worker has ended, ")
	}
	if r.StopSignal != "" {
		b.add("%s %.1fs ago, ", r.StopSignal, r.stopping.Seconds())
	}
	if r.TimeLeft != nil {
		b.add("SIGKILL in %.1fs, ", *r.TimeLeft)
	}
	if port := r.cfg.ReadyPort; port != 0 && r.Phase == machine.Starting.String() {
		b.add("port %d of loopback does not accept yet, ", port)
	}
	if r.Partial {
		b.add("at least ")
	}
	b.add("%s below it\n", logx.Processes(len(r.Processes)))
	switch {
	case r.Plan != nil:
		r.addPlanTo(&b)
	case len(r.Processes) > 0:
		r.addStatusTo(&b)
	}
	return b.String()
}

func (r report) addStatusTo(b *page) {
	const columns = "%7v %7v %-5v %8v %v\n"
	b.add(columns, "PID", "PPID", "STATE", "AGE", "COMMAND")
	for _, p := range r.Processes {
		command := p.Comm
		if p.Stop != "" {
			command = fmt.Sprintf("%-15s %s", p.Comm, p.Stop)
		}
		b.add(columns, p.PID, p.PPID, p.State, logx.Round(time.Duration(p.Age*1e9)), command)
	}
}
