package rehearse

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/diag"
	"drainit/internal/inspect"
	"drainit/internal/logx"
	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/supervisor"
)

// stop is what was seen of the stop.
type stop struct {
	cfg       supervisor.Config
	plan      *inspect.Plan
	rows      []*inspect.Row
	unsettled bool      // the processes were still changing
	stopped   time.Time // when it began, zero if it did not
}

// judge makes the verdict on a stop from its log, of which end is the last line. failed is the error of
// --check, nil for none. A line that work may be lost does not count if --check has found the work of
// --during done, or if the user says that a drain ends by the signal.
func (s *stop) judge(v *verdict, flags Flags, log []line, end line, failed error) {
	byIt := 128 + int(s.plan.Stop)
	own := []int{0, byIt, 128 + int(unix.SIGTERM)} // the last two of a shell, or of good manners
	isDone := flags.During != "" && flags.Check != "" && failed == nil ||
		slices.Contains(s.cfg.RemapExit, byIt)
	v.Verdict, v.Status, v.Plan, v.Processes = signalsArrive, 0, s.plan, s.rows
	if flags.Check != "" {
		v.Verdict = drains
	}
	if failed != nil {
		v.add(reason{Why: failed.Error(), Loses: true})
	}
	for _, l := range log {
		if loss := diag.Loss(l.value("loses")); loss != "" {
			v.add(l.reason(loss == diag.Loses || !isDone))
		}
		s.note(l)
	}
	if v.Status == 0 && !slices.Contains(own, v.Worker) {
		v.add(end.reason(true))
	}
	v.Took = s.after(end)
	for _, p := range s.rows {
		p.EndedAfter = cmp.Or(p.EndedAfter, &v.Took) // the last to end
	}
	const advice = "--ready-port, or --during with a command that waits"
	switch {
	case s.unsettled:
		v.add(reason{Why: fmt.Sprintf("the processes still changed after %v: "+advice, changeFor)})
	case v.Status == 0 && !slices.ContainsFunc(s.rows, works):
		v.add(reason{Why: "no process was at work: if it was still starting, " + advice})
	}
}

// add adds a reason, by which the verdict may be another.
func (v *verdict) add(r reason) {
	if v.Reasons = append(v.Reasons, r); r.Loses {
		v.Verdict, v.Status = losesWork, 1
	}
}

// after returns how long after the stop signal a line came, in seconds.
func (s *stop) after(l line) float64 { return logx.InTenths(l.at.Sub(s.stopped)) }

// works guesses that a process does work, or handles a stop for one that does.
func works(p *inspect.Row) bool {
	return p.OnStop == proc.Handles || program.Of(&p.Process) == program.Other && !diag.IsHelper(&p.Process)
}

// note notes what a process of the plan was sent, or how it ended, if a line of the stop says so. Of several
// signals the first counts.
func (s *stop) note(l line) {
	pid, sig, event := l.number("pid"), l.value("signal"), l.value("event")
	for _, p := range s.rows {
		switch {
		case p.PID != pid || l.at.Before(s.stopped):
		case event == "child_ended":
			p.EndedAfter, p.DiedOf, p.ExitStatus = new(s.after(l)), sig, new(l.number("status"))
		case event == "signal_sent" && p.Sent == "" && sig != s.plan.QuietSignal:
			p.Sent, p.SentAfter = sig, new(s.after(l))
		}
	}
}
