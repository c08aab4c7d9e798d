package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// Successor returns the process that took the worker's place in the last plan, if one
// did: its exit status is the one that counts. It is returned once.
func (l *Ledger) Successor() (p proc.Process, ok bool) {
	if l.successor == nil {
		return p, false
	}
	p = *l.successor
	l.successor = nil
	return p, true
}

// promoteSuccessor makes the successor of a worker the worker. A shell or a launcher that
// died by the very signal that drainit sent it says nothing about the work; if exactly
// one child that came from it handles the signal, that one's status does. Where none
// does, a single shell or launcher may have a successor in its turn. What reads a pipe
// that another writes to is none. The first snapshot after the death decides.
func (l *Ledger) promoteSuccessor(s *proc.Snapshot) {
	w := l.records[l.worker]
	if w == nil || w.decided || w.program == Other || w.sent == nil || w.termSignal != w.sent.signal {
		return
	}
	w.decided = true
	var handling, passing []*record
	for _, m := range l.children() {
		if m.sent == nil {
			_, _ = l.decide(m, s) // which may find that it is a clean-up
		}
		switch {
		case !l.topmost(m).root || m.cleanup, len(s.WritersTo(m.PID)) > 0:
		case m.handled.Has(l.deliver) && !(m.program == Shell && !m.Handles(unix.SIGTERM)):
			handling = append(handling, m)
		case m.program != Other:
			passing = append(passing, m)
		}
	}
	if len(handling) == 0 {
		handling = passing
	}
	if len(handling) == 1 {
		l.worker = handling[0].ID
		l.successor = &handling[0].Process
	}
}

// topmost is the last known at or above m. If it was drainit's child before the stop,
// what is below it is its own business.
func (l *Ledger) topmost(m *record) (top *record) {
	for top = range l.upFrom(m) {
	}
	return top
}

// BlockedTrap is a shell that waits for a child before it can run its trap.
type BlockedTrap struct{ Shell, Child proc.Process }

// blockedAfter is when a shell that handled the stop signal should have run its trap, in
// ticks.
const blockedAfter = 100

// trapShells are the pids of the shells that were signalled a second ago or earlier and
// handled the signal.
func (l *Ledger) trapShells(now uint64) (pids []int) {
	for pid, m := range l.living {
		if m.program == Shell && m.sent != nil && m.sent.handled && m.sent.tick+blockedAfter <= now {
			pids = append(pids, pid)
		}
	}
	return pids
}

// BlockedTraps returns the shells of a snapshot that wait for the one child that they can
// be waiting for. A child that has INT and QUIT ignored, or leads a process group, is in
// the background; one that is younger than the delivery was started by the trap.
func (l *Ledger) BlockedTraps(now uint64, s *proc.Snapshot) (all []BlockedTrap) {
	for _, pid := range l.trapShells(now) {
		shell := l.living[pid]
		var waited []*record
		runs := false
		for _, m := range l.living {
			switch {
			case m.PPID != pid:
			case m.first > shell.sent.snapshot:
				runs = true
			case m.PGID != m.PID && !m.Ignores(unix.SIGINT) && !m.Ignores(unix.SIGQUIT):
				waited = append(waited, m)
			}
		}
		if len(waited) == 1 && !runs && s.WaitsFor(pid, waited[0].PID) == proc.Waits {
			all = append(all, BlockedTrap{shell.Process, waited[0].Process})
		}
	}
	return all
}
