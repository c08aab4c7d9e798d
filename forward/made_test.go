package forward

import (
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// details are what a made-up snapshot shows beside its processes.
type details struct {
	Writers   map[int][]int // of the readers of pipes: the pids of those that write to them
	Waits     map[int]proc.Waiting
	Stacks    map[int]uint64 // of those that wait
	Untouched map[proc.ID]bool
	Asleep    map[int]bool
}

// with makes a snapshot with such details.
func with(all []proc.Process, d details) *proc.Snapshot {
	for i := range all {
		p := &all[i]
		p.Untouched, p.Asleep = d.Untouched[p.ID], d.Asleep[p.PID]
		if d.Writers[p.PID] != nil {
			p.Reads = proc.File{Inode: uint64(p.PID)}
		}
		if d.Waits[p.PID] != proc.NotWaiting {
			p.Call = proc.Call{Sleeps: true, Number: unix.SYS_WAIT4, Stack: d.Stacks[p.PID]}
		}
		if d.Waits[p.PID] == proc.Waits {
			p.Exe = "dash" // the shell of which that is known
		}
	}
	s := proc.New(all)
	for pid, writers := range d.Writers {
		for _, writer := range writers {
			s.AddWriter(proc.File{Inode: uint64(pid)}, writer)
		}
	}
	return s
}

// undecidedOnes are the processes of which the last plan left open whether they were signalled.
func (l *Ledger) undecidedOnes() []Waiting {
	return slices.DeleteFunc(l.Waiting(), func(w Waiting) bool { return !w.Undecided })
}

// WasSent returns the stop signal that a process was sent, 0 for none.
func (l *Ledger) WasSent(id proc.ID) unix.Signal {
	if m := l.records[id]; m != nil && m.sent != nil {
		return m.sent.signal
	}
	return 0
}

// planBy returns what a step adds to a plan.
func (l *Ledger) planBy(step func()) []Delivery {
	l.plan, l.planned = nil, make(map[proc.ID]bool)
	step()
	return l.plan
}
