package diag

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// Deaths tells by the deaths in a stop which processes at work have no handler. The zero one is empty.
type Deaths struct {
	AtWork []proc.Process // when the stop began
	sent   map[int]clue   // by pid
}

// clue is a process at work that was sent the stop signal. Its death may show that it has no handler, or
// its exit status that the one below has none, to which it passed the signal on.
type clue struct {
	proc.Process
	loses  bool         // by its own death
	below  proc.Process // the only one at work below it, zero where that is not known
	signal unix.Signal
	at     time.Time
}

// Sent notes that a process was sent the stop signal, and reports whether it is at work and ignores that. Of the
// worker there may be no more than its pid. What others start is their business.
func (d *Deaths) Sent(all *proc.Snapshot, p proc.Process, sig unix.Signal, isWorker bool) (ignores bool) {
	c := clue{p, p.Start == 0, proc.Process{}, sig, time.Now()}
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

// Lacking is a process that died of the stop signal, as it has no handler.
type Lacking struct {
	proc.Process
	Sent    proc.Process // the process itself, or the one above it that passed the signal on
	Signal  unix.Signal
	Certain bool // that it has none
	AtOnce  bool // later a death may be good manners: it had the signal blocked, or sent it to itself
}

// Ended is what the end of a child of drainit shows: that it died of the stop signal for want of a handler, or that the
// one below it did, whose death it tells by the status 128+n, as tsx does. name is the worker's, where it could not be
// read; read reads a process now.
func (d *Deaths) Ended(pid int, by unix.Signal, status int, name string, read func(int) (proc.Process, error)) (l Lacking, ok bool) {
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
	took := time.Since(c.at)
	return Lacking{died, c.Process, c.signal, certain, certain && took <= onABusyMachine || took <= within}, dies && lacks
}
