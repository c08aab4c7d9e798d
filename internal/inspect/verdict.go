package inspect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/logx"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/supervisor"
)

// verdict is what a rehearsal has shown, as JSON has it (docs/plan.schema.json).
type verdict struct {
	Verdict   string         `json:"verdict"`
	Status    int            `json:"status"`            // the exit status of drainit plan
	Reasons   []reason       `json:"reasons"`           // why it is not "drains"
	Took      float64        `json:"took_s"`            // from the stop signal to the end
	Shorter   []string       `json:"shorter,omitempty"` // the platforms that wait less by default
	Worker    int            `json:"worker_status"`     // what drainit would have ended with
	Plan      map[string]any `json:"plan,omitempty"`
	Processes []reported     `json:"processes,omitempty"`

	head   string // of the table
	checks bool   // --check has decided
}

// The verdicts.
const (
	drains     = "drains"      // all that could be at work handled the signal, in time, and ended by itself
	losesWork  = "loses_work"  // a process was killed, or died of the signal, or failed
	notCertain = "not_certain" // one may be signalled late, or have no handler
	noPlan     = "no_plan"     // there was no stop to judge by
)

// reason is why a verdict is not "drains".
type reason struct {
	PID    int    `json:"pid,omitempty"` // 0 where it is about no process
	Comm   string `json:"comm,omitempty"`
	Why    string `json:"why"`
	Advice string `json:"advice,omitempty"`
	lost   bool   // work is lost, or else may be
}

func (r reason) String() string {
	name, advice := "", ""
	if r.PID != 0 {
		name = fmt.Sprintf("%s[%d] ", r.Comm, r.PID)
	}
	if r.Advice != "" {
		advice = ": " + r.Advice
	}
	return name + r.Why + advice
}

// happened is what a stop has done with a process of its plan.
type happened struct {
	Sent       string   `json:"sent,omitempty"`         // the signal
	SentAfter  *float64 `json:"sent_after_s,omitempty"` // the stop began
	Late       bool     `json:"late,omitempty"`         // in the last or the final call
	EndedAfter *float64 `json:"ended_after_s,omitempty"`
	ExitStatus *int     `json:"exit_status,omitempty"` // of a child of drainit, 128+n for signal n
	end        string
}

// addRecord adds to each process of a plan what drainit has done with it, and how it ended.
func (r *report) addRecord(rec *supervisor.Record) {
	for i := range r.Processes {
		p := &r.Processes[i]
		for _, s := range rec.Sent {
			if s.To == p.id && p.Sent == "" {
				p.Sent, p.SentAfter, p.Late = signals.Name(s.Signal), new(logx.InTenths(s.After)), s.Late
			}
		}
		for _, e := range rec.Ended {
			if e.PID != p.PID {
				continue
			}
			p.EndedAfter, p.ExitStatus = new(logx.InTenths(e.After)), new(e.ExitStatus())
			p.end = fmt.Sprintf("status %d", e.ExitStatus())
			if e.TermSignal() != 0 {
				p.end = signals.Name(e.TermSignal())
			}
		}
	}
}

// judge is the verdict on a stop, but for its time and what --check says.
func (r report) judge(cfg supervisor.Config, outcome supervisor.Outcome) verdict {
	v := verdict{Reasons: []reason{}, Worker: outcome.Status, Plan: r.Plan, Processes: r.Processes, head: r.head()}
	v.addLosses(r, cfg, outcome)
	v.addDoubts(r, cfg)
	return v
}

func (v *verdict) add(p proc.Process, lost bool, why, advice string) {
	v.Reasons = append(v.Reasons, reason{p.PID, logx.Printable(p.Comm), why, advice, lost})
}

// addLosses adds what was killed, what died of the signal, and a worker that failed.
func (v *verdict) addLosses(r report, cfg supervisor.Config, outcome supervisor.Outcome) {
	const starting = "; if it was still starting, --ready-file, --ready-port or --settle"
	stop, w := signals.Name(r.stop), outcome.Worker
	for _, p := range outcome.Worker.Kill.Victims {
		was, advice := "was killed at the end of the grace period", "a longer --grace, if it was still at work"
		if outcome.Worker.Kill.Forced() {
			was, advice = "was killed by a second stop signal", "--second-stop ignore"
		} else if slices.ContainsFunc(r.Processes, func(row reported) bool { return row.id == p.ID && row.OnStop != proc.Handles }) {
			advice = "a handler for " + stop
		}
		v.add(*p, true, was, advice)
	}
	allowed := slices.Contains(cfg.RemapExit, 128+int(r.stop))
	for _, p := range cfg.Record.Lacking {
		switch {
		case allowed:
		case p.Certain:
			v.add(p.Process, true, "has no "+stop+" handler and died of it", "add one, or --rewrite with the signal that it drains on"+starting)
		default:
			v.add(p.Process, false, "died of "+stop+" at once, and may have no handler of its own", "add one, or have --check tell whether its work is kept"+starting)
		}
	}
	died := outcome.Status == 128+int(r.stop) || outcome.Status == 128+int(unix.SIGTERM) // a shell or a launcher, or by good manners
	handles := func(p reported) bool { return p.OnStop == proc.Handles || p.OnStop == proc.NotKnown }
	switch {
	case outcome.Worker.Kill.Happened() || outcome.Status == 0:
	case !died:
		v.add(w.Process(), true, w.Exit.String(), fmt.Sprintf("see its own log; if that is how it ends a drain, --remap-exit %d", outcome.Status))
	case len(v.Reasons) == 0 && !slices.ContainsFunc(r.Processes, handles): // a shell, mostly
		v.add(w.Process(), true, "has no "+stop+" handler, nor has any process below it", "add one, such as a shell's trap"+starting)
	}
}

// addDoubts adds what was signalled late, or would have been if it had been busy.
func (v *verdict) addDoubts(r report, cfg supervisor.Config) {
	for _, p := range r.Processes {
		doubt := reason{PID: p.PID, Comm: p.Comm, Advice: cmp.Or(p.foreseen.Advice, "exec in the script that starts it has it signalled at once")}
		switch {
		case p.OnStop == proc.NotKnown && p.foreseen.Now:
			doubt.Why, doubt.Advice = "has handlers that this kernel does not show", "have --check tell whether its work is kept"
		case p.Late:
			doubt.Why = fmt.Sprintf("was signalled only %.1fs after the stop signal, of the %v to SIGKILL", *p.SentAfter, cfg.Grace)
		case p.OnStop == proc.Handles && p.foreseen.Now && p.foreseen.Else != forward.Stop:
			doubt.Why = fmt.Sprintf("may be signalled only %v before SIGKILL, if it is busy then", beforeKill(cfg, p.foreseen.Else))
		default:
			continue
		}
		v.Reasons = append(v.Reasons, doubt)
	}
}

// took notes how long the stop took, and which platforms wait less by default.
func (v *verdict) took(d time.Duration) {
	v.Took = logx.InTenths(d)
	if d > 10*time.Second {
		v.Shorter = append(v.Shorter, "docker stop (10s)")
	}
	if d > 30*time.Second {
		v.Shorter = append(v.Shorter, "Kubernetes (30s)")
	}
}

// checked notes the status of --check, which decides.
func (v *verdict) checked(status int) {
	v.checks = true
	if status != 0 {
		v.Reasons = append([]reason{{Why: fmt.Sprintf("--check exited with status %d", status), lost: true}}, v.Reasons...)
		return
	}
	v.Verdict = drains
}

func (v *verdict) conclude(allowUncertain bool) {
	switch {
	case v.Verdict != "":
	case slices.ContainsFunc(v.Reasons, func(r reason) bool { return r.lost }):
		v.Verdict, v.Status = losesWork, statusNo
	case len(v.Reasons) > 0:
		v.Verdict = notCertain
		if !allowUncertain {
			v.Status = statusNo
		}
	default:
		v.Verdict = drains
	}
}

func (v verdict) print(to io.Writer, asJSON bool) error {
	text := v.text()
	if asJSON {
		b, _ := json.Marshal(v) // numbers and strings never fail
		text = string(b) + "\n"
	}
	_, err := io.WriteString(to, text)
	return err
}

// text is the verdict for people, of 100 columns at most but for its last lines.
func (v verdict) text() string {
	if v.Verdict == noPlan {
		return "" // a line has said why
	}
	const columns, planned = "%7s %-20.20s %-42s %-11s %s", 42
	b := strings.Builder{}
	line := func(cells ...any) { b.WriteString(strings.TrimRight(fmt.Sprintf(columns, cells...), " ") + "\n") }
	b.WriteString(v.head)
	line("PID", "COMMAND", "PLANNED", "SENT", "ENDED")
	for _, p := range v.Processes {
		sent, ended := "-", "-"
		if p.Sent != "" {
			sent = fmt.Sprintf("%s %.1fs", strings.TrimPrefix(p.Sent, "SIG"), *p.SentAfter)
		}
		if p.EndedAfter != nil {
			ended = strings.TrimSpace(fmt.Sprintf("%.1fs %s", *p.EndedAfter, p.end))
		}
		words := wrap(p.Stop, planned)
		line(fmt.Sprint(p.PID), p.indent+p.Comm, words[0], sent, ended)
		for _, more := range words[1:] {
			line("", "", more, "", "")
		}
	}
	b.WriteString(strings.ReplaceAll(v.Verdict, "_", " "))
	if v.checks {
		b.WriteString(", as --check says")
	}
	fmt.Fprintf(&b, ": the stop took %.1fs", v.Took)
	if len(v.Shorter) > 0 {
		b.WriteString(", longer than these wait by default: " + strings.Join(v.Shorter, ", "))
	}
	b.WriteString("\n")
	for _, r := range v.Reasons {
		fmt.Fprintf(&b, "- %v\n", r)
	}
	return b.String()
}

// wrap breaks a text at its blanks into lines of at most so many bytes, where it can.
func wrap(text string, most int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > most {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}
