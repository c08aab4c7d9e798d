package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

const termSet = signals.Set(1 << (unix.SIGTERM - 1))

// snapshot is what drainit sees of the living. Of the idle it sees which have not been woken since the stop
// began; the busy run all the time.
func (f family) snapshot(k kind) *proc.Snapshot {
	var all []proc.Process
	for i := range f {
		if !f[i].dead {
			all = append(all, f.process(i, k))
		}
	}
	s := proc.New(all)
	for i := range f {
		if !f[i].dead && f.reads(i) {
			s.AddWriter(proc.File{Inode: uint64(firstPID + i)}, firstPID+f.writer(i))
		}
	}
	return s
}

// call is what a shell with children sleeps in. A loop waits for one command after the other with the
// same stack.
func (f family) call(i int) proc.Call {
	c := proc.Call{Sleeps: true, Number: unix.SYS_WAIT4, Stack: 1}
	if f[i].does == dashShell && f.foreground(i) < 0 {
		c.Number = unix.SYS_RT_SIGSUSPEND
	}
	if f[i].does == polls {
		c.Number = unix.SYS_CLOCK_NANOSLEEP
	}
	// within its handler
	if f[i].changes() && f[i].signalled() && !f[i].blocksAWhile() ||
		f[i].does == steppingShell && f[i].signalled() {
		c.Stack = 2
	}
	return c
}

// process is what a snapshot shows of one.
func (f family) process(i int, k kind) proc.Process {
	m := &f[i]
	p := proc.Process{ID: proc.ID{PID: firstPID + i, Start: 100}, PPID: drainitPID, PGID: firstPID + m.group,
		SID: firstPID + f.top(i), State: 'S', Comm: behaves[m.does]}
	if m.parent != drainitSends {
		p.PPID = firstPID + m.parent
	}
	switch {
	case m.ignores() && m.does != nestedInit: // which has no handler, and the kernel drops it
		p.Ignored = termSet
	case m.handles() && m.does != polls && !(m.signalled() && m.does == execsInTrap):
		p.Handled = termSet
	}
	// a shell put it into the background
	if up := m.started; up >= 0 && f[up].inBackground(m) && !(k.unmarked && m.acts()) {
		p.Ignored |= signals.SetOf(unix.SIGINT, unix.SIGQUIT)
	}
	if up := m.started; up >= 0 {
		if p.Input = proc.ParentsInput; f[up].inBackground(m) {
			p.Input = proc.NullInput
		}
	}
	if f.reads(i) {
		p.Reads = proc.File{Inode: uint64(p.PID)}
	}
	if f.hasChild(i) {
		p.Call = f.call(i)
	}
	f.readClosely(i, &p)
	p.Asleep = k.idle && p.Pending == 0
	p.Untouched = p.Asleep && m.wakes == 0
	if p.Asleep {
		p.Switches = 1 + uint64(m.wakes)
		p.Evidence = []proc.Thread{{TID: p.PID, Switches: p.Switches}}
	}
	return p
}

// readClosely adds what a process tells of itself if it is asked.
func (f family) readClosely(i int, p *proc.Process) {
	m := &f[i]
	defer looksKnown(p)
	p.Exe, p.Args = "app", []string{"app"}
	switch m.does {
	case groupRelay:
		p.Exe, p.Args = "timeout", []string{"timeout", "9", "app"}
	case subreaper:
		p.Exe, p.Args = "tini", []string{"tini", "-s", "-g", "--", "app"}
	case childRelay:
		p.Exe, p.Args = "timeout", []string{"timeout", "--foreground", "9", "app"}
	case execsInTrap:
		if p.Exe, p.Args = "bash", []string{"bash", "start.sh"}; m.signalled() {
			p.Exe, p.Args = "ctl", []string{"ctl", "stop"}
		}
	case blocksItself:
		if m.blocks() {
			p.Blocked = termSet
		}
	case takesItLate, polls:
		p.Blocked = termSet
	case diesLate:
		if !m.told {
			p.Blocked = termSet
		}
	case trapShell, passingShell, waitingShell, guardingShell, asksToStop, steppingShell:
		p.Exe, p.Args = "bash", []string{"bash", "start.sh"}
	case dashShell:
		p.Exe, p.Args = "dash", []string{"dash", "start.sh"}
	case handlerShell, trappingShell:
		p.Exe, p.Args = "mksh", []string{"mksh", "start.sh"}
	case noHandler, pipeReader, stepsWhenAsked:
		if m.signalled() { // it is woken, and has not got to it yet
			p.Pending = signals.SetOf(unix.SIGKILL)
		}
	case nestedInit:
		p.NestedInit = true
	case blocking:
		p.Blocked = termSet
	}
	if m.pending {
		p.Pending |= termSet
	}
}
