package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
)

// details are what a made-up snapshot shows beside its processes.
type details struct {
	Writers   map[int][]int // of the readers of pipes: the pids of those that write to them
	Waits     map[int]program.Waiting
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
		if d.Waits[p.PID] != program.NotWaiting {
			p.Call = proc.Call{Sleeps: true, Number: unix.SYS_WAIT4, Stack: d.Stacks[p.PID]}
		}
		if d.Waits[p.PID] == program.Waits {
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

// WasSent returns the stop signal that a process was sent, 0 for none.
func (l *Ledger) WasSent(id proc.ID) unix.Signal {
	if m := l.records[id]; m != nil && m.sent != nil {
		return m.sent.signal
	}
	return 0
}

// kindly is a process of one of these kinds, read closely.
func kindly(kind string, pid, ppid int) proc.Process {
	p := proc.Process{ID: proc.ID{PID: pid, Start: 100}, PPID: ppid, PGID: 10, SID: 10, State: 'S', Comm: kind, Exe: kind, Args: []string{kind}}
	switch kind {
	case "app", "bash", "mksh", "task":
		p.Handled = termSet
	case "dies", "dash": // a shell without a trap

	case "npm with its handler":
		p.Exe, p.Args, p.Handled = "node", []string{"node", "/usr/bin/npm", "start"}, termSet
	case "ignores":
		p.Ignored = termSet
	case "init":
		p.NestedInit = true
	case "blocks":
		p.Blocked, p.Pending = termSet, termSet
	}
	return p
}

// kin is one of a table.
type kin struct {
	kind      string
	pid, ppid int
}

// kinfolk are the processes of a table.
func kinfolk(all ...kin) (shown []proc.Process) {
	for _, k := range all {
		shown = append(shown, kindly(k.kind, k.pid, k.ppid))
	}
	return shown
}
