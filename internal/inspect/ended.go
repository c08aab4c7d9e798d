package inspect

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"drainit/internal/diag"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// Here are (c) and (d) of the claim: the process ended by itself, before the last call and before the process
// that reads its output, and did not fail.

// badEnd returns why a process did not end well, or why that is not known. It returns nil if it ended well.
func (c *claim) badEnd(p *row) *reason {
	last, _ := machine.Calls(c.cfg.Grace, c.cfg.Limit)
	lacks, _ := diag.LacksHandler(p.Process, c.stop)
	lacks = lacks && !c.onlyWaits(p)
	switch {
	case p.ended == 0 || c.cfg.Grace != machine.Forever && p.ended-c.waited >= last && last > 0:
		return doubt("a longer --grace", "ended only when the last call had come")
	case p.status < 0 && !c.ownEndSeen(p):
		const untold = "ended in a way that this kernel does not tell (Linux 6.15 does)"
		return doubt(advisedCheck, untold+", and %s has waited for it", c.above(p))
	case p.status < 0 && lacks:
		return doubt(advisedCheck, "may have no handler of its own")
	case p.status < 0 || c.isWell(p.status):
		return nil
	case c.isStop(p.status) && p.by != 0 && lacks:
		return doubt(advisedCheck, "died of %s, and may have no handler of its own", signals.Name(p.by))
	case c.isStop(p.status):
		return nil
	case p.by != 0:
		return loss("see its own log", "died of %s", signals.Name(p.by))
	}
	return loss(fmt.Sprintf(advisedRemap, p.status), "exited with status %d", p.status)
}

// isWell reports whether an exit status counts as success: it is 0, or --remap-exit names it.
func (c *claim) isWell(status int) bool {
	return status == 0 || slices.Contains(c.cfg.RemapExit, status)
}

// isStop reports whether an exit status is 128+n for the stop signal or for TERM. A shell or a launcher has
// it after a stop, and so has a program that drains, and then sends itself the signal.
func (c *claim) isStop(status int) bool {
	return status == 128+int(c.stop) || status == 128+int(unix.SIGTERM)
}

// ownEndSeen reports whether a process of unknown status ended well, as far as its parent tells. It did if
// the parent, which saw its end, ended later, and with success. If the parent's status is unknown, too, the
// parent's own parent tells. The status of a script is that of its last command, and tells nothing.
func (c *claim) ownEndSeen(p *row) bool {
	up := c.row(proc.ID{PID: p.PPID})
	switch {
	case up == nil || up.ended < p.ended:
		return false
	case program.Of(&up.Process) == program.Shell && up.OnStop == proc.Handles:
		return false
	case up.status < 0:
		return c.ownEndSeen(up)
	}
	return c.isWell(up.status)
}

// unread returns why what a process wrote may not have been read, nil if it was.
func (c *claim) unread(p *row) *reason {
	const advice = "a file, or standard output, in place of that"
	for _, f := range p.open {
		if !isOutput(f) {
			continue
		}
		if reader := c.readerGone(p, f.Name); reader != "" {
			return doubt(advice, "writes to %s, which ended before it", reader)
		}
	}
	return nil
}

// isOutput reports whether a file is standard output or error, and a pipe, a socket or a terminal. What is
// written to these, another process reads.
func isOutput(f proc.OpenFile) bool {
	hasReader := func(kind string) bool { return strings.HasPrefix(f.Name, kind) }
	return f.Write && (f.FD == 1 || f.FD == 2) &&
		slices.ContainsFunc([]string{"pipe:", "socket:", "/dev/pts/"}, hasReader)
}

// readerGone returns the name of a process that read what p writes to the file of this name, if all such
// processes ended before p. Otherwise it returns "". The other end of a socket is not known: mostly it is the
// nearest process above that is no shell. If a snapshot shows that p writes to a process's standard input,
// drainit waits for both, in no order. Such a reader may end a third of inTime before p.
func (c *claim) readerGone(p *row, name string) (reader string) {
	isSocket := strings.HasPrefix(name, "socket:")
	for _, q := range c.Processes {
		isShown := slices.Contains(c.all.WritersTo(q.PID), p.PID)
		isMaker := q.PID == c.maker(p) && !c.all.IsRead(p.PID)
		isReader := q.reads(name) || isSocket && (isShown || isMaker)
		hasLeft := p.adopted && q.PID == p.PPID
		switch {
		case !isReader || q == p:
		case q.ended == 0 || q.ended >= p.ended && !hasLeft || isShown && q.ended+inTime/3 >= p.ended:
			return ""
		default:
			reader = q.Process.String()
		}
	}
	return reader
}

// maker returns the pid of the nearest process above p that is no shell, 0 for none.
func (c *claim) maker(p *row) int {
	up, ok := c.all.Process(p.PPID)
	for ok && program.Of(&up) == program.Shell {
		up, ok = c.all.Process(up.PPID)
	}
	return up.PID
}

// reads reports whether the process reads what is written to a file of this name.
func (p *row) reads(name string) bool {
	return slices.ContainsFunc(p.open, func(f proc.OpenFile) bool {
		master := strings.HasPrefix(name, "/dev/pts/") && strings.HasSuffix(f.Name, "/ptmx")
		return master || f.Name == name && f.Read && strings.HasPrefix(name, "pipe:")
	})
}
