package inspect

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/diag"
	"drainit/internal/proc"
	"drainit/internal/program"
)

// Here is (b) of the claim: the process handled the signal and got it in time, and once.

// unhandled returns what is wrong with a process without a handler, nil for nothing. If such a process is
// signalled, its work is lost. Its end alone counts (badEnd) if it was held, and was neither signalled,
// continued by others nor killed in that time. The same holds if a job was in hand, and it ended by itself.
func (c *claim) unhandled(p *row) *reason {
	stop, dies := c.Plan.StopSignal, p.sent != nil && p.OnStop == proc.Dies
	switch {
	case dies && diag.KeepsSignals(p.Process):
		const words = "has no %s handler, nor has any process below it"
		return loss("add one, such as a shell's trap"+starting, words, stop)
	case dies:
		return loss(advisedHandler+starting, "has no %s handler and died of it", stop)
	case p.pending > 0 || p.by != 0:
		return loss(advisedHandler+starting, "has no %s handler, and %s ends it", stop, c.above(p))
	case p.sent == nil && p.status == 0 && (p.adopted || diag.IsHelper(p.Process)):
		return nil // it has ended by itself, and well
	case p.sent != nil || !p.held && !c.inHand || p.loose || p.adopted:
		return doubt(advisedHandler, "does not act upon %s", stop)
	}
	return c.badEnd(p)
}

// notInTime returns why it is not known that a process was signalled in time, and once. It returns nil if
// that is known.
func (c *claim) notInTime(p *row) *reason {
	advice := "exec in the script that starts it has it signalled at once"
	if p.sent != nil || c.cfg.Mode == forward.ModeNone {
		return c.notInTimeByDrainit(p, advice)
	}
	return c.notInTimeByAnother(p, advice)
}

const late = "was signalled only %.1fs after the stop signal"

// notInTimeByDrainit is notInTime for a process that drainit or the platform has signalled. advice is what
// would have it signalled at once.
func (c *claim) notInTimeByDrainit(p *row, advice string) *reason {
	managers := c.managers(p)
	broadcast := c.cfg.Mode == forward.ModeNone || p.sent.Target == forward.ToGroup
	switch {
	case broadcast && len(managers) > 0:
		return doubt("--forward auto", "may be signalled by %v, too", managers[0])
	case p.sent == nil:
		return nil
	case p.sent.Late:
		const busy = late + ", of the %v to SIGKILL, as it would be if it were busy"
		return doubt(advice, busy, p.sent.After.Seconds(), c.cfg.Grace)
	case p.pending > 0 && p.pending < p.sent.After:
		return loss(advice, "was signalled by another process, and by drainit")
	case p.sent.After > c.turn(p)+inTime:
		return doubt(advice, late, p.sent.After.Seconds())
	}
	return nil
}

// turn returns when the turn of a process came, since the stop began. It came when the stop delay was over. A
// child of drainit may have its turn later: when another process ended, the last one before it was signalled.
func (c *claim) turn(p *row) time.Duration {
	turn := c.cfg.StopDelay
	for _, q := range c.Processes {
		if p.PPID == c.PID && q != p && q.ended <= p.sent.After {
			turn = max(turn, q.ended)
		}
	}
	return turn
}

// notInTimeByAnother is notInTime for a process that was left to those above it. advice is what would have it
// signalled at once.
//
// Its manager may have continued it, as timeout(1) continues what it signals, and ended since. This counts if
// the process then ended soon and well, as it would not have done without the signal. The kernel, too,
// continues a stopped process whose group is orphaned, but sends it HUP, of which it dies without a handler.
//
// If a manager has signalled one of the held processes, it has still to signal the others.
func (c *claim) notInTimeByAnother(p *row, advice string) *reason {
	managers, continued := c.managers(p), p.loose || p.killed
	endsWell := c.isWell(p.status) && !p.Handles(unix.SIGHUP) && p.ended <= inTime
	byManager := continued && p.adopted && endsWell
	isSignalled := func(q *row) bool { return q.pending > 0 && c.above(q) == c.above(p) }
	signalsOne := slices.ContainsFunc(c.Processes, isSignalled)
	switch {
	case len(managers) == 0:
		return doubt(advice, "was sent no signal")
	case p.adopted && p.pending == 0 && !byManager:
		return doubt(advice, "may have been signalled by %v, which ended before it", managers[0])
	case diag.IsPM2(managers[0]):
		return doubt(advisedCheck, "may be signalled twice by %v, a PM2", managers[0])
	case len(managers) > 1:
		return doubt(advisedCheck, "may be signalled by %v and by %v", managers[0], managers[1])
	case p.pending > inTime:
		return doubt(advice, late, p.pending.Seconds())
	case continued && !byManager:
		return doubt(advisedCheck, "was continued by another process while it was held")
	case p.held && p.pending == 0 && (p.ended > c.waited+inTime || signalsOne):
		return doubt(advice, "was sent no signal while it was held")
	case !p.held && !p.children && !c.inHand:
		return doubt(advisedCheck, "could not be held")
	}
	return nil
}

// managers returns the processes above p that handle the signal and may pass it on to p, the nearest first. A
// program that is known to signal only its own children is a manager of these alone.
func (c *claim) managers(p *row) (all []proc.Process) {
	for up, ok := c.all.Process(p.PPID); ok && up.PID != c.PID; up, ok = c.all.Process(up.PPID) {
		reach := program.Signals(&up, c.stop)
		reaches := reach != program.NoProcess && (!reach.OnlyChildren() || up.PID == p.PPID)
		if up.Handles(c.stop) && reaches {
			all = append(all, up)
		}
	}
	return all
}

// above returns the name of the nearest manager or, if there is none, of the parent.
func (c *claim) above(p *row) string {
	parent, _ := c.all.Process(p.PPID)
	return append(c.managers(p), parent)[0].String()
}
