package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"drainit/internal/logx"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/reaper"
)

// verdict is what a rehearsal has shown, as JSON has it (docs/plan.schema.json).
type verdict struct {
	Verdict   string    `json:"verdict"`
	Status    int       `json:"status"`            // the exit status of drainit plan
	Reasons   []*reason `json:"reasons"`           // why it is not "drains"
	Took      float64   `json:"took_s"`            // from the stop signal to the end, less the hold
	Shorter   []string  `json:"shorter,omitempty"` // the platforms that wait less by default
	Worker    int       `json:"worker_status"`     // the exit status that drainit would have ended with
	Plan      *plan     `json:"plan,omitempty"`
	Processes []*row    `json:"processes,omitempty"`

	checks bool // --check has decided
}

// The verdicts.
const (
	drains     = "drains"      // the claim holds (claim), or --check says so
	losesWork  = "loses_work"  // a process was killed, or died of the signal, or failed
	notCertain = "not_certain" // the claim may not hold
	noPlan     = "no_plan"     // there was no stop to judge by
)

// reason is why a verdict is not "drains".
type reason struct {
	PID    int    `json:"pid,omitempty"` // 0 where it is about no process
	Comm   string `json:"comm,omitempty"`
	Why    string `json:"why"`
	Advice string `json:"advice,omitempty"` // what to write instead
	lost   bool   // work is lost; false: it may be
}

func doubt(advice, format string, args ...any) *reason {
	return &reason{Why: fmt.Sprintf(format, args...), Advice: advice}
}

func loss(advice, format string, args ...any) *reason {
	return &reason{Why: fmt.Sprintf(format, args...), Advice: advice, lost: true}
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

// addRecord adds to each process of a plan what drainit has done with it, and how it ended.
func (r *report) addRecord() {
	for _, s := range slices.Backward(r.cfg.Record.Sent) { // of several the first counts
		if p := r.row(s.To); p != nil { // of a worker the pid may be all that is known
			p.sent, p.Sent, p.Late = &s, signals.Name(s.Signal), s.Late
			p.SentAfter = new(logx.InTenths(s.After))
		}
	}
	for _, p := range r.Processes {
		if p.ending == nil {
			continue
		}
		if status, ok := p.ending.Status(); ok {
			p.endedWith(reaper.WaitEvent{Status: status})
		}
	}
	for _, e := range slices.Backward(r.cfg.Record.Ended) {
		if p := r.row(proc.ID{PID: e.PID}); p != nil {
			p.adopted = p.PPID != r.PID
			p.endedAt(e.After)
			p.endedWith(e.WaitEvent)
		}
	}
}

func (p *row) endedAt(after time.Duration) {
	p.ended, p.EndedAfter = after, new(logx.InTenths(after))
}

func (p *row) endedWith(e reaper.WaitEvent) {
	p.by, p.status, p.ExitStatus = e.TermSignal(), e.ExitStatus(), new(e.ExitStatus())
}

// conclude decides the verdict on a stop. took is how long the stop took, without the time of the hold.
// checks says that --check has run. failed is the error of that, nil for none. If --check has run, it
// decides, and the reasons stay.
func (v *verdict) conclude(took time.Duration, checks bool, failed error, allowUncertain bool) {
	v.Took, v.checks = logx.InTenths(max(0, took)), checks
	if took > 10*time.Second {
		v.Shorter = append(v.Shorter, "docker stop (10s)")
	}
	if took > 30*time.Second {
		v.Shorter = append(v.Shorter, "Kubernetes (30s)")
	}
	if failed != nil {
		v.Reasons = slices.Insert(v.Reasons, 0, loss("", "%v", failed))
	}
	switch {
	case checks && failed == nil:
		v.Verdict = drains
	case slices.ContainsFunc(v.Reasons, func(r *reason) bool { return r.lost }):
		v.Verdict, v.Status = losesWork, statusNo
	case len(v.Reasons) == 0:
		v.Verdict = drains
	default:
		v.Verdict = notCertain
		if !allowUncertain {
			v.Status = statusNo
		}
	}
}

// text returns the verdict for people, "" if there is none. It has 100 columns at most but for its last
// lines.
func (v verdict) text() string {
	if v.Verdict == noPlan {
		return "" // a line has said why
	}
	var b page
	line := func(cells ...any) {
		b.add("%s\n", strings.TrimRight(fmt.Sprintf("%7v %-20.20v %-42v %-11v %v", cells...), " "))
	}
	b.add("%s", v.Plan.head())
	line("PID", "COMMAND", "PLANNED", "SENT", "ENDED")
	for _, p := range v.Processes {
		sent, ended := p.happened()
		words := wrap(p.Stop, 42)
		line(p.PID, p.indent+p.Comm, words[0], sent, ended)
		for _, more := range words[1:] {
			line("", "", more, "", "")
		}
	}
	b.add("%s", strings.ReplaceAll(v.Verdict, "_", " "))
	if v.checks {
		b.add(", as --check says")
	}
	b.add(": the stop took %.1fs", v.Took)
	if len(v.Shorter) > 0 {
		b.add(", longer than these wait by default: %s", strings.Join(v.Shorter, ", "))
	}
	b.add("\n")
	for _, r := range v.Reasons {
		b.add("- %v\n", r)
	}
	return b.String()
}

// happened returns for people what drainit sent the process and how it ended, "-" for nothing.
func (p *row) happened() (sent, ended string) {
	sent, ended = "-", "-"
	switch {
	case p.Sent != "":
		sent = fmt.Sprintf("%s %.1fs", strings.TrimPrefix(p.Sent, "SIG"), *p.SentAfter)
	case p.held:
		sent = "held"
	}
	if p.EndedAfter == nil {
		return sent, ended
	}
	ended = fmt.Sprintf("%.1fs", *p.EndedAfter)
	switch {
	case p.by != 0:
		ended += " " + signals.Name(p.by)
	case p.status >= 0:
		ended += fmt.Sprintf(" status %d", p.status)
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
