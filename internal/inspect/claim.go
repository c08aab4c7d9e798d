package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/diag"
	"drainit/internal/logx"
	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/worker"
	"drainit/supervisor"
)

// claim is what the verdict "drains" claims. Each process that could be at work
//
//	(a) was there when the stop began,
//	(b) handled the signal, and got it in time, either from drainit, on grounds that hold if it is busy,
//	    or from a process above it that handled the signal, and lived on while what it waits for was held,
//	(c) ended by itself, before the last call and before any process that reads its output,
//	(d) did not fail, as far as can be known.
//
// A process that only waits for another, serves it, or reads what it writes is not at work. A rehearsal takes
// every process for busy (supervisor.Config.Record), and holds those that drainit leaves to others
// (rehearsal.hold).
//
// The reasons say why the claim does not hold, one for each process.
type claim struct {
	report
	reasons []*reason
}

// inTime is how long after its turn a process may be signalled. A process that was held may end as long after
// it was continued.
const inTime = 1500 * time.Millisecond

// Advice of several reasons.
const (
	advisedCheck   = "have --check tell whether its work is kept"
	advisedRemap   = "see its own log; if that is how it ends a drain, --remap-exit %d"
	advisedHandler = "add one, or --rewrite with the signal that it drains on"
	starting       = "; if it was still starting, --ready-port or --settle"
)

// judge returns the verdict on a stop with its reasons. What they come to is left to conclude.
func (r report) judge(outcome supervisor.Outcome) verdict {
	c := &claim{r, []*reason{}}
	c.addKilled(outcome.Worker.Kill)
	c.addLacking()
	for _, p := range c.Processes {
		c.add(p.Process, c.against(p))
	}
	for _, p := range c.came { // (a)
		c.add(p, doubt(advisedCheck, "was started in the stop, and may be at work"))
	}
	if c.unsettled {
		const changing = "the processes were still changing, or loading"
		c.add(proc.Process{}, doubt("--ready-port or --settle", changing))
	}
	c.addWorker(outcome)
	return verdict{Reasons: c.reasons, Worker: outcome.Status, Plan: r.Plan, Processes: r.Processes}
}

// add adds a reason about a process. p is the zero process if the reason is about none, and why is nil for no
// reason. Of several reasons about one process the first counts.
func (c *claim) add(p proc.Process, why *reason) {
	if why == nil || slices.ContainsFunc(c.reasons, func(r *reason) bool { return r.PID == p.PID }) {
		return
	}
	why.PID, why.Comm = p.PID, logx.Printable(p.Comm)
	c.reasons = append(c.reasons, why)
}

// against returns why the claim does not hold of a process, nil if it does.
func (c *claim) against(p *row) *reason {
	switch {
	case c.isAllowed(p) || c.isNotAtWork(p):
		return nil
	case p.OnStop == proc.NotKnown:
		return doubt(advisedCheck, "has handlers that this kernel does not show")
	case p.killed && p.sent == nil && c.cfg.Mode == forward.ModeWorker:
		return loss("--forward auto", "is killed when the worker has ended")
	case p.sent == nil && (p.killed && p.status < 0 || p.by == unix.SIGKILL):
		return loss("more time in the settings of "+c.above(p), "was killed by another process")
	case p.OnStop != proc.Handles:
		return c.unhandled(p)
	}
	return cmp.Or(c.notInTime(p), c.badEnd(p), c.unread(p))
}

// isAllowed reports whether a process ended as --remap-exit says that it may.
func (c *claim) isAllowed(p *row) bool {
	inTime := p.OnStop != proc.Handles || p.sent != nil && !p.sent.Late
	return !p.killed && inTime && slices.Contains(c.cfg.RemapExit, p.status)
}

// isNotAtWork reports whether a process only waits for one below it that handles the signal, serves one
// beside or above it, or reads what another writes. The death of such a process loses nothing.
func (c *claim) isNotAtWork(p *row) bool {
	parent, _ := c.all.Process(p.PPID)
	switch {
	case c.all.HasWriters(p.PID):
		return true
	case diag.IsHelper(p.Process):
		return parent.Handles(c.stop) || c.onlyWaits(p)
	}
	return (p.OnStop != proc.Handles || program.Of(&p.Process) == program.Shell) && c.onlyWaits(p)
}

func (c *claim) onlyWaits(p *row) bool { return diag.OnlyWaits(c.all, p.Process, c.stop) }

// addKilled adds a reason for each process that drainit has killed.
func (c *claim) addKilled(kill worker.Kill) {
	for _, p := range kill.Victims {
		row := c.row(p.ID)
		why := loss("a longer --grace, if it was still at work", "was killed at the end of the grace period")
		switch {
		case kill.Forced():
			why = loss("--second-stop ignore", "was killed by a second stop signal")
		case row != nil && (row.OnStop == proc.Dies || row.OnStop == proc.Ignores):
			why.Advice = "a handler for " + c.Plan.StopSignal
		}
		c.add(*p, why)
	}
	if kill.Unseen && len(kill.Victims) == 0 {
		c.add(proc.Process{}, loss("", "a process was killed that /proc did not show"))
	}
}

// addLacking adds a reason for each process that died of the signal for want of a handler.
func (c *claim) addLacking() {
	stop, died := c.Plan.StopSignal, 128+int(c.stop)
	for _, p := range c.cfg.Record.Lacking {
		row := c.row(p.ID)
		switch {
		case slices.Contains(c.cfg.RemapExit, died), row != nil && row.status >= 0 && row.status != died:
		case p.Certain:
			c.add(p.Process, loss(advisedHandler+starting, "has no %s handler and died of it", stop))
		default:
			const words = "died of %s at once, and may have no handler of its own"
			c.add(p.Process, doubt("add one, or "+advisedCheck+starting, words, stop))
		}
	}
}

// addWorker adds a reason if the worker has failed.
func (c *claim) addWorker(outcome supervisor.Outcome) {
	w, status := outcome.Worker, outcome.Status
	if status != 0 && !w.Kill.Happened() && !c.isStop(status) {
		c.add(w.Process(), loss(fmt.Sprintf(advisedRemap, status), "%v", w.Exit))
	}
}
