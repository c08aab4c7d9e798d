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
	why := note(advice, format, args...)
	why.Loses = true
	return why
}

func unlessDone(advice, format string, args ...any) *reason {
	why := loss(advice, format, args...)
	why.unsure = true
	return why
}

func (r *reason) loses() bool { return r.Loses }

func (r *reason) String() string {
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
	if slices.ContainsFunc(v.Reasons, (*reason).loses) {
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

// text returns the verdict for people, "" if there is none.
func (v verdict) text() string {
	if v.Verdict == noPlan {
		return "" // a line has said why
	}
	const columns = "%7v %-20v %-11v %-16v %v\n"
	text := v.Plan.Head() + fmt.Sprintf(columns, "PID", "COMMAND", "SENT", "ENDED", "PLANNED")
	for _, p := range v.Processes {
		sent, ended := p.happened()
		text += fmt.Sprintf(columns, p.PID, p.Indent+p.Comm, sent, ended, p.Stop)
	}
	text += fmt.Sprintf("%s: the stop took %.1fs", strings.ReplaceAll(v.Verdict, "_", " "), v.Took)
	if len(v.Shorter) > 0 {
		text += ", longer than these wait by default: " + strings.Join(v.Shorter, ", ")
	}
	for _, r := range v.Reasons {
		text += "\n- " + r.String()
	}
	return text + "\n"
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
