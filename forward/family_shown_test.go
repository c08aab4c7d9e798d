package forward

import (
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

const termSet = signals.Set(1 << (unix.SIGTERM - 1))

// snapshot is what drainit sees of the living, as far as it has asked. Where all are idle,
// it is proven of those that have received nothing; nothing ever is of the busy.
func (f family) snapshot(w proc.Want, k kind) *proc.Snapshot {
	var all []proc.Process
	details := proc.Details{Writers: make(map[int][]int), Waits: make(map[int]proc.Waiting), Stacks: make(map[int]uint64),
		Evidence: make(map[int]proc.Evidence), Untouched: make(map[proc.ID]bool)}
	for i := range f {
		m := &f[i]
		if m.dead {
			continue
		}
		p := f.process(i, w, k)
		all = append(all, p)
		details.Stacks[p.PID] = 1   // a loop waits for one command after the other at the same place
		if k.idle && w.Chain != 0 { // the first: what WantWitness asks for
			details.Evidence[p.PID] = proc.Evidence{{}}
		}
		if _, asked := w.Prove[p.ID]; asked && k.idle && f.untouched(i) {
			details.Untouched[p.ID] = true
		}
		if f.reads(i) {
			details.Writers[p.PID] = []int{firstPID + f.writer(i)}
		}
		if f.hasChild(i) && slices.Contains(w.Shells, p.PID) {
			details.Waits[p.PID] = f.waits(i)
		}
	}
	return proc.New(all).With(details)
}

// waits is what a shell with children shows of its wait.
func (f family) waits(i int) proc.Waiting {
	switch {
	case f[i].does != dashShell:
		return proc.MayWait
	case f.foreground(i) < 0:
		return proc.NotWaiting
	}
	return proc.Waits
}

// untouched reports whether nothing has woken a member that sleeps.
func (f family) untouched(i int) bool { return !f[i].signalled() && !f[i].woken }

// process is what a snapshot shows of one. What is not drainit's child and has no child
// is not read closely unless that was asked for.
func (f family) process(i int, w proc.Want, k kind) proc.Process {
	m := &f[i]
	p := proc.Process{ID: proc.ID{PID: firstPID + i, Start: 100}, PPID: drainitPID, PGID: firstPID + m.group,
		SID: firstPID, State: 'S', Comm: behaves[m.does]}
	if m.parent != drainitSends {
		p.PPID = firstPID + m.parent
	}
	switch {
	case m.handles():
		p.Handled = termSet
	case m.does == ignoring:
		p.Ignored = termSet
	}
	if up := m.started; up >= 0 && f[up].inBackground(m) && !(k.unmarked && m.acts()) { // a shell put it into the background
		p.Ignored |= signals.SetOf(unix.SIGINT, unix.SIGQUIT)
	}
	if p.PPID == drainitPID || f.hasChild(i) || f.belowAny(i, w.All) {
		f.readClosely(i, &p)
	}
	return p
}

func (f family) belowAny(i int, these []int) bool {
	for up := f[i].parent; ; up = f[up].parent {
		switch {
		case up == drainitSends:
			return slices.Contains(these, drainitPID)
		case slices.Contains(these, firstPID+up):
			return true
		}
	}
}

// readClosely adds what a process tells of itself if it is asked.
func (f family) readClosely(i int, p *proc.Process) {
	m := &f[i]
	p.Exe, p.Args = "app", []string{"app"}
	switch m.does {
	case groupRelay:
		p.Exe, p.Args = "timeout", []string{"timeout", "9", "app"}
	case childRelay:
		p.Exe, p.Args = "timeout", []string{"timeout", "--foreground", "9", "app"}
	case trapShell, passingShell, waitingShell:
		p.Exe, p.Args = "bash", []string{"bash", "start.sh"}
	case dashShell:
		p.Exe, p.Args = "dash", []string{"dash", "start.sh"}
	case handlerShell:
		p.Exe, p.Args = "mksh", []string{"mksh", "start.sh"}
	case noHandler, pipeReader:
		if p.Fatal = termSet; m.signalled() { // it is woken, and has not got to it yet
			p.Fatal, p.Pending = 0, signals.SetOf(unix.SIGKILL)
		}
	case nestedInit:
		p.NestedInit = true
	case blocking:
		if p.Blocked = termSet; m.signalled() {
			p.Pending = termSet
		}
	}
}
