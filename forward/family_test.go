package forward

import (
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// behaviour is what a process of a family does about TERM.
type behaviour uint8

// The behaviours.
const (
	noHandler    behaviour = iota // it dies of it
	finishes                      // it ends its work, which takes its time, and exits
	passesOn                      // it signals its children, and exits when they are gone
	passesLeaves                  // it signals its children, and leaves
	leavesAtOnce                  // it leaves
	ignoring                      // it ignores it
	blocking                      // it never gets to see it
	groupRelay                    // timeout(1): it signals its child and its process group, and exits when that has gone
	trapShell                     // a bash: its trap, which exits, can't run before its last child has gone
	behaviours                    // how many there are
)

// behaves are the words in which a family is written.
var behaves = [behaviours]string{"dies", "finishes", "passes on", "passes on and leaves", "leaves", "ignores", "blocks", "timeout", "trap"}

// drainitSends stands for drainit among the members of a family.
const drainitSends = -1

// member is one process of a family, and what it really got: that drainit can't know.
type member struct {
	does    behaviour
	started int // the index of the member that started it
	parent  int // the same until that has gone, then drainitSends
	group   int // the index of the leader of its process group
	dead    bool
	diedOf  unix.Signal
	drainit int   // how often drainit signalled it
	others  []int // the indexes of the members that did
	byCall  bool  // drainit did by the last call
	dying   bool  // it was dying when it was signalled again
}

func (m *member) signalled() bool { return m.drainit+len(m.others) > 0 }

func (m *member) handles() bool {
	return m.does != noHandler && m.does != ignoring && m.does != blocking
}

// family is a worker and what it has started, in the order of their pids.
type family []member

// firstPID is the pid of the worker, the first of a family.
const firstPID = 10

// newFamily starts one. Parents are the indexes of those of the members behind the first.
func newFamily(parents []int, does []behaviour) family {
	f := make(family, len(does))
	for i := range f {
		up, group := drainitSends, 0
		if i > 0 {
			up = parents[i-1]
			group = f[up].group
		}
		if does[i] == groupRelay {
			group = i
		}
		f[i] = member{does: does[i], started: up, parent: up, group: group}
	}
	return f
}

// snapshot is what drainit sees of the living.
func (f family) snapshot() *proc.Snapshot {
	var all []proc.Process
	for i := range f {
		if !f[i].dead {
			all = append(all, f.process(i))
		}
	}
	return proc.New(all)
}

// process is what a snapshot shows of one. What is not drainit's child and has no child
// is not read closely: that it blocks a signal, as one does that waits for it, is not
// known then.
func (f family) process(i int) proc.Process {
	const term = signals.Set(1 << (unix.SIGTERM - 1))
	m := &f[i]
	p := proc.Process{ID: proc.ID{PID: firstPID + i, Start: 100}, PPID: drainitPID, PGID: firstPID + m.group,
		SID: firstPID, State: 'S', Comm: behaves[m.does]}
	if m.parent != drainitSends {
		p.PPID = firstPID + m.parent
	}
	if closely := m.parent == drainitSends || f.hasChild(i); closely {
		p.Exe = "app"
		switch m.does {
		case groupRelay:
			p.Exe = "timeout"
		case trapShell:
			p.Exe = "bash"
		case blocking:
			p.Handled = term
			if m.signalled() {
				p.Pending = term
			}
		}
		p.Args = []string{p.Exe}
	}
	if m.handles() {
		p.Handled = term
	} else if m.does == ignoring {
		p.Ignored = term
	}
	return p
}

func (f family) hasChild(of int) bool {
	return slices.ContainsFunc(f, func(m member) bool { return m.parent == of && !m.dead })
}

// signal sends TERM to a member, which does what it does about the first.
func (f family) signal(to, from int) {
	m := &f[to]
	if m.dead {
		return
	}
	again := m.signalled()
	m.dying = again && m.does == noHandler
	if from == drainitSends {
		m.drainit++
	} else {
		m.others = append(m.others, from)
	}
	if again {
		return
	}
	for i := range f {
		switch {
		case i == to:
		case m.does == groupRelay && f[i].group == to,
			(m.does == groupRelay || m.does == passesOn || m.does == passesLeaves) && f[i].parent == to:
			f.signal(i, to)
		}
	}
}

// mayDie are the members of which one can be the next to die; slow is whether all of
// them may take longer than the grace.
func (f family) mayDie() (these []int, slow bool) {
	slow = true
	for i := range f {
		m := &f[i]
		if m.dead || !m.signalled() {
			continue
		}
		switch m.does {
		case ignoring, blocking:
			continue
		case passesOn, groupRelay:
			if f.hasChild(i) {
				continue
			}
		case trapShell:
			if f.trapWaits(i) {
				continue
			}
		}
		these = append(these, i)
		slow = slow && m.does == finishes
	}
	return these, slow
}

// trapWaits reports whether the child that a shell has in the foreground lives.
func (f family) trapWaits(shell int) bool {
	for i := len(f) - 1; i > shell; i-- {
		if f[i].started == shell {
			return !f[i].dead
		}
	}
	return false
}

// die ends a member, whose children come to drainit.
func (f family) die(i int) {
	f[i].dead = true
	if f[i].does == noHandler {
		f[i].diedOf = unix.SIGTERM
	}
	for j := range f {
		if f[j].parent == i {
			f[j].parent = drainitSends
		}
	}
}

// String is the family as a tree, such as "trap(dies finishes)".
func (f family) String() string { return f.tree(0) }

func (f family) tree(i int) string {
	text, open := behaves[f[i].does], "("
	for j := range f {
		if f[j].started == i {
			text += open + f.tree(j)
			open = ", "
		}
	}
	if open == ", " {
		text += ")"
	}
	return text
}
