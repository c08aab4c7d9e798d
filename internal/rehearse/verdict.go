package rehearse

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"drainit/internal/inspect"
)

// verdict is what a rehearsal has shown, as JSON has it (docs/plan.schema.json).
type verdict struct {
	Verdict   string         `json:"verdict"`
	Status    int            `json:"status"`            // the exit status of drainit plan
	Reasons   []reason       `json:"reasons"`           // why work is lost, and what was late
	Took      float64        `json:"took_s"`            // from the stop signal to the end
	Shorter   []string       `json:"shorter,omitempty"` // the platforms that wait less by default
	Worker    int            `json:"worker_status"`     // the exit status that drainit would have ended with
	Plan      *inspect.Plan  `json:"plan,omitempty"`
	Processes []*inspect.Row `json:"processes,omitempty"`
}

// The verdicts.
const (
	drains        = "drains"         // signalsArrive, and --check found the work done
	signalsArrive = "signals_arrive" // each process that handles the signal got it, and nothing was lost
	losesWork     = "loses_work"     // a process was killed, died of the signal, or failed, or --check did
	noPlan        = "no_plan"        // there was no stop to judge by, or no answer of --check
)

// reason is a line of the stop's log that says why work is lost, or that changes no verdict.
type reason struct {
	PID   int    `json:"pid,omitempty"` // 0 where it is about no process
	Comm  string `json:"comm,omitempty"`
	Why   string `json:"why"`
	Loses bool   `json:"loses"`
}

// print prints the verdict as a line of JSON, or for people. There it prints none if a line has said why.
func (v *verdict) print(to io.Writer, asJSON bool) error {
	if v.Took > 10 {
		v.Shorter = append(v.Shorter, "docker stop (10s)")
	}
	if v.Took > 30 {
		v.Shorter = append(v.Shorter, "Kubernetes (30s)")
	}
	text := v.text()
	if asJSON {
		b, _ := json.Marshal(v) // numbers and strings never fail
		text = string(b) + "\n"
	}
	_, err := io.WriteString(to, text)
	return err
}

func (v *verdict) text() string {
	if v.Verdict == noPlan {
		return ""
	}
	const columns = "%7v %-20v %-11v %-16v %v\n"
	text := v.Plan.Head() + fmt.Sprintf(columns, "PID", "COMMAND", "SENT", "ENDED", "PLANNED")
	for _, p := range v.Processes {
		sent, ended := happened(p)
		text += fmt.Sprintf(columns, p.PID, p.Indent+p.Comm, sent, ended, p.Stop)
	}
	text += fmt.Sprintf("%s: the stop took %.1fs", strings.ReplaceAll(v.Verdict, "_", " "), v.Took)
	if len(v.Shorter) > 0 {
		text += ", longer than these wait by default: " + strings.Join(v.Shorter, ", ")
	}
	for _, r := range v.Reasons {
		text += "\n- " + r.Why
	}
	return text + "\n"
}

// happened returns for people what drainit sent the process, "-" for nothing, and how it ended.
func happened(p *inspect.Row) (sent, ended string) {
	sent, ended = "-", fmt.Sprintf("%.1fs", *p.EndedAfter)
	if p.Sent != "" {
		sent = fmt.Sprintf("%s %.1fs", strings.TrimPrefix(p.Sent, "SIG"), *p.SentAfter)
	}
	switch {
	case p.DiedOf != "":
		ended += " " + p.DiedOf
	case p.ExitStatus != nil:
		ended += fmt.Sprintf(" status %d", *p.ExitStatus)
	}
	return sent, ended
}
