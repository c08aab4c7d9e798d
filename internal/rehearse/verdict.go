package rehearse

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"drainit/internal/inspect"
	"drainit/internal/logx"
	"drainit/internal/proc"
	"drainit/internal/signals"
)

// verdict is what a rehearsal has shown, as JSON has it (docs/plan.schema.json).
type verdict struct {
	Verdict   string        `json:"verdict"`
	Status    int           `json:"status"`            // the exit status of drainit plan
	Reasons   []*reason     `json:"reasons"`           // why work is lost, and what was late
	Took      float64       `json:"took_s"`            // from the stop signal to the end
	Shorter   []string      `json:"shorter,omitempty"` // the platforms that wait less by default
	Worker    int           `json:"worker_status"`     // the exit status that drainit would have ended with
	Plan      *inspect.Plan `json:"plan,omitempty"`
	Processes []*row        `json:"processes,omitempty"`
}

// The verdicts.
const (
	drains        = "drains"         // signalsArrive, and --check found the work done
	signalsArrive = "signals_arrive" // each process that handles the signal got it, and nothing was lost
	losesWork     = "loses_work"     // a process was killed, died of the signal, or failed, or --check did
	noPlan        = "no_plan"        // there was no stop to judge by
)

// reason is why work is lost, or a note that changes no verdict.
type reason struct {
	PID    int    `json:"pid,omitempty"` // 0 where it is about no process
	Comm   string `json:"comm,omitempty"`
	Why    string `json:"why"`
	Advice string `json:"advice,omitempty"` // what to do
	Loses  bool   `json:"loses"`
	unsure bool   // not if --check has found the work of --during done
}

func note(advice, format string, args ...any) *reason {
	return &reason{Why: fmt.Sprintf(format, args...), Advice: advice}
}

func loss(advice, format string, args ...any) *reason {
	return &reason{Why: fmt.Sprintf(format, args...), Advice: advice, Loses: true}
}

func unlessDone(advice, format string, args ...any) *reason {
	why := loss(advice, format, args...)
	why.unsure = true
	return why
}

func (r reason) String() string {
	text := r.Why
	if r.PID != 0 {
		text = fmt.Sprintf("%s[%d] %s", r.Comm, r.PID, text)
	}
	if r.Advice != "" {
		text += ": " + r.Advice
	}
	return text
}

// judge returns the verdict on the stop. failed is the error of --check, nil for none.
func (s *stop) judge(flags Flags, failed error) verdict {
	s.addRecord()
	s.reasons = []*reason{}
	if failed != nil {
		s.add(proc.Process{}, loss("", "%v", failed))
	}
	s.addReasons()
	v := verdict{Verdict: signalsArrive, Reasons: s.reasons, Took: logx.InTenths(s.took),
		Worker: s.outcome.Status, Plan: s.plan, Processes: s.rows}
	if flags.Check != "" {
		v.Verdict = drains
	}
	isDone := flags.During != "" && flags.Check != "" && failed == nil
	for _, r := range v.Reasons {
		r.Loses = r.Loses && !(r.unsure && isDone)
	}
	if slices.ContainsFunc(v.Reasons, func(r *reason) bool { return r.Loses }) {
		v.Verdict, v.Status = losesWork, 1
	}
	if s.took > 10*time.Second {
		v.Shorter = append(v.Shorter, "docker stop (10s)")
	}
	if s.took > 30*time.Second {
		v.Shorter = append(v.Shorter, "Kubernetes (30s)")
	}
	return v
}

// text returns the verdict for people, "" if there is none. It has 100 columns at most but for its last
// lines.
func (v verdict) text() string {
	if v.Verdict == noPlan {
		return "" // a line has said why
	}
	var b strings.Builder
	line := func(cells ...any) {
		text := fmt.Sprintf("%7v %-20.20v %-42v %-11v %v", cells...)
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	b.WriteString(v.Plan.Head())
	line("PID", "COMMAND", "PLANNED", "SENT", "ENDED")
	for _, p := range v.Processes {
		sent, ended := p.happened()
		words := wrap(p.Stop, 42)
		line(p.PID, p.Indent+p.Comm, words[0], sent, ended)
		for _, more := range words[1:] {
			line("", "", more, "", "")
		}
	}
	fmt.Fprintf(&b, "%s: the stop took %.1fs", strings.ReplaceAll(v.Verdict, "_", " "), v.Took)
	if len(v.Shorter) > 0 {
		b.WriteString(", longer than these wait by default: " + strings.Join(v.Shorter, ", "))
	}
	b.WriteString("\n")
	for _, r := range v.Reasons {
		fmt.Fprintf(&b, "- %v\n", r)
	}
	return b.String()
}

// happened returns for people what drainit sent the process, "-" for nothing, and how it ended.
func (p *row) happened() (sent, ended string) {
	sent, ended = "-", fmt.Sprintf("%.1fs", *p.EndedAfter)
	if p.Sent != "" {
		sent = fmt.Sprintf("%s %.1fs", strings.TrimPrefix(p.Sent, "SIG"), *p.SentAfter)
	}
	switch {
	case p.exit == nil:
	case p.exit.TermSignal() != 0:
		ended += " " + signals.Name(p.exit.TermSignal())
	default:
		ended += fmt.Sprintf(" status %d", *p.ExitStatus)
	}
	return sent, ended
}

// wrap breaks a text at its blanks into lines. They have at most so many bytes, unless a word is longer.
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
