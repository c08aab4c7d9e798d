package diag

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// Deaths finds, by the deaths in a stop, the processes at work that have no handler: those that die of the very
// signal that drainit has sent them, within 0.1 s. Later a death may be good manners: such a process had the
// signal blocked, or sent it to itself. The zero Deaths is empty.
type Deaths struct {
	AtWork []proc.Process // the processes at work when the stop began
	sent   map[int]clue   // by pid
}

const atOnce = 100 * time.Millisecond

// clue is a process at work that was sent the stop signal.
type clue struct {
	proc.Process
	signal unix.Signal
	at     time.Time
}

// Sent notes that a process was sent the stop signal, and reports whether it is at work and ignores that.
// Only the pid of the worker may be known. Processes that are neither the worker nor in AtWork are the
// business of those that started them.
func (d *Deaths) Sent(all *proc.Snapshot, p proc.Process, sig unix.Signal, isWorker bool) (ignores bool) {
	works := isWorker || slices.ContainsFunc(d.AtWork, func(w proc.Process) bool { return w.ID == p.ID })
	switch {
	case !works || OnlyWaits(all, p, sig): // its death tells nothing, and there may be any number
	case p.Ignores(sig):
		return true
	default:
		if d.sent == nil {
			d.sent = make(map[int]clue)
		}
		d.sent[p.PID] = clue{p, sig, time.Now()}
	}
	return false
}

// Lacking is a process that died of the stop signal, and has no handler for it, or may have none.
type Lacking struct {
	proc.Process
	Signal  unix.Signal
	Certain bool // it surely has none
}

// Ended returns what the end of a child of drainit shows. ok is set if the child died of the stop signal at
// once, and lacks a handler or may lack one. by is the signal that the child died of, 0 for none. name stands
// for that of a worker that could not be read.
func (d *Deaths) Ended(pid int, by unix.Signal, name string) (l Lacking, ok bool) {
	c, ok := d.sent[pid]
	delete(d.sent, pid)
	if !ok || by != c.signal || time.Since(c.at) > atOnce {
		return l, false
	}
	if c.Start == 0 {
		c.Comm = name
	}
	lacks, certain := LacksHandler(c.Process, by)
	return Lacking{c.Process, by, certain}, lacks
}
