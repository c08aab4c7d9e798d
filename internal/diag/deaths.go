package diag

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// Deaths finds, by the deaths in a stop, the processes at work that have no handler. The zero Deaths is
// empty.
type Deaths struct {
	AtWork []proc.Process // the processes at work when the stop began
	sent   map[int]clue   // by pid
}

// clue is a process at work that was sent the stop signal. Its death may show that it has no handler. Its
// exit status may show that the process below it, to which it passed the signal on, has none.
type clue struct {
	proc.Process
	loses  bool         // its own death loses work
	below  proc.Process // the only one at work below it, zero where that is not known
	signal unix.Signal
	at     time.Time
}

// Sent notes that a process was sent the stop signal, and reports whether it is at work and ignores that.
// Only the pid of the worker may be known. Processes that are neither the worker nor in AtWork are the
// business of those that started them.
func (d *Deaths) Sent(all *proc.Snapshot, p proc.Process, sig unix.Signal, isWorker bool) (ignores bool) {
	c := clue{Process: p, signal: sig, at: time.Now()}
	if isWorker || slices.ContainsFunc(d.AtWork, func(w proc.Process) bool { return w.ID == p.ID }) {
		c.loses, c.below = !OnlyWaits(all, p, sig), OnlyBelow(all, p)
	}
	switch {
	case c.loses && p.Ignores(sig):
		return true
	case c.loses || c.below.PID != 0: // else its death tells nothing, and there may be any number
		if d.sent == nil {
			d.sent = make(map[int]clue)
		}
		d.sent[p.PID] = c
	}
	return false
}

// Lacking is a process that died of the stop signal, and has no handler for it, or may have none.
type Lacking struct {
	proc.Process
	Sent    proc.Process // the process itself, or the one above it that passed the signal on
	Signal  unix.Signal
	Certain bool // it surely has none
	AtOnce  bool // later a death may be good manners: it had the signal blocked, or sent it to itself
}

// Ended returns what the end of a child of drainit shows. ok is set if the child died of the stop signal, and
// lacks a handler or may lack one. It is also set if this is so of the process below the child, whose death
// the child tells by the status 128+n, as tsx does. by is the signal that the child died of, 0 for none. name
// stands for that of a worker that could not be read. read reads a process now.
func (d *Deaths) Ended(
	pid int, by unix.Signal, status int, name string, read func(int) (proc.Process, error),
) (l Lacking, ok bool) {
	const atOnce, relayed, onABusyMachine = 100 * time.Millisecond, 500 * time.Millisecond, time.Second
	c, ok := d.sent[pid]
	delete(d.sent, pid)
	if !ok || status != 128+int(c.signal) {
		return l, false
	}
	died, within, dies := c.Process, atOnce, c.loses
	if by == 0 {
		now, err := read(c.below.PID)
		died, within, dies = c.below, relayed, c.below.PID != 0 && (err != nil || !now.Alive())
	}
	if died.Start == 0 {
		died.Comm = name
	}
	lacks, certain := LacksHandler(died, c.signal)
	if certain {
		within = max(within, onABusyMachine)
	}
	return Lacking{died, c.Process, c.signal, certain, time.Since(c.at) <= within}, dies && lacks
}
