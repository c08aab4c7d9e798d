package forward

import (
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"drainit/test/trees"
)

// behaviour is what a process of a family does about TERM.
type behaviour uint8

// The behaviours.
const (
	noHandler behaviour = iota // it dies of it

	finishes       // it ends its work, which takes its time, and exits
	passesOn       // it signals its children, and exits when they are gone
	passesLeaves   // it signals its children, and leaves
	leavesAtOnce   // it leaves
	ignoring       // it ignores it
	blocking       // it never gets to see it
	groupRelay     // timeout(1): it signals its child and its process group, and exits when that has gone
	trapShell      // a bash: its trap, which exits, can't run before its last child has gone
	nestedInit     // the first of a PID namespace, without a handler: the kernel drops it
	pipeReader     // it dies of it, and reads what the child beside it writes: it exits when that has gone
	handlerShell   // a mksh: it dies of it when its last child has gone
	childRelay     // timeout --foreground: it signals its first child, and exits when that has gone
	passingShell   // a bash whose trap signals its children in the background first
	dashShell      // a dash that waits as trapShell does, which can be seen
	waitingShell   // a bash in the builtin wait: its trap signals its children, and it exits after them
	passesDies     // it signals its children, and dies of it by its own hand
	groupDies      // it signals its process group, and dies of it
	guardsItself   // it ignores it from then on, signals its children, and exits when they are gone
	blocksItself   // it blocks it from then on, signals its process group, and exits after its children
	guardingShell  // a bash in the builtin wait, whose trap does as guardsItself
	execsInTrap    // a bash in the builtin wait, whose trap becomes a program that signals the children
	takesItLate    // it blocks the signal for a while, then signals its children, and exits after them
	asksToStop     // a bash in the builtin wait, whose trap asks its children by a socket, and leaves
	subreaper      // tini -s -g: it signals its first child and its group, adopts, and exits after the child
	diesLate       // it blocks it for a while, then dies of it
	trappingShell  // a mksh in the builtin wait: its trap signals its children, and it exits after them
	drainingReader // it reads what the child beside it writes, and ends work on the signal or after it
	waitsOnly      // it signals none, and exits when its children are gone
	stepsOn        // it signals one child after the other, and waits for each, with a pause between
	stepsGroup     // it signals its first child, waits for it, pauses, and signals that one's process group
	stepsTree      // it signals its first child, waits for it, pauses, and signals all below it
	stepsByName    // it signals its first child, waits for it, pauses, and signals the last by a pid file
	steppingShell  // a bash in the builtin wait, whose trap does as stepsByName
	polls          // it blocks it, and looks for it each half second; then it does as passesOn
	stepsUnseen    // it does as stepsTree, and pauses in a call that shows no pause
	tellsAndLeaves // it signals its first child, and the last below that by a pid file, and leaves
	waitsForOutput // it signals its children, and exits when all below it are gone, which write to it
	drainsItself   // it signals its children, ends work of its own, and exits
	asksOtherwise  // it asks its children by another signal, a file or a pipe, and exits when they are gone
	stepsWhenAsked // it has no handler; asked by other means, it does as stepsTree
	adopts         // it signals its first child, adopts what that leaves, and exits after all below it
	behaviours     // how many there are
)

// behaves are the words in which a family is written.
var behaves = [behaviours]string{
	noHandler:      "dies",
	finishes:       "finishes",
	passesOn:       "passes on",
	passesLeaves:   "passes on and leaves",
	leavesAtOnce:   "leaves",
	ignoring:       "ignores",
	blocking:       "blocks",
	groupRelay:     "timeout",
	trapShell:      "trap",
	nestedInit:     "init",
	pipeReader:     "reader",
	handlerShell:   "mksh",
	childRelay:     "timeout --foreground",
	passingShell:   "trap that passes on",
	dashShell:      "dash",
	waitingShell:   "trap in wait",
	passesDies:     "passes on and dies",
	groupDies:      "signals its group and dies",
	guardsItself:   "guards itself",
	blocksItself:   "blocks itself",
	guardingShell:  "trap that guards itself",
	execsInTrap:    "trap that execs",
	takesItLate:    "takes it late",
	asksToStop:     "trap that asks by a socket",
	subreaper:      "tini",
	diesLate:       "dies late",
	trappingShell:  "mksh with a trap",
	drainingReader: "reads and finishes",
	waitsOnly:      "waits",
	stepsOn:        "steps",
	stepsGroup:     "steps to a group",
	stepsTree:      "steps to the tree",
	stepsByName:    "steps to a pid file",
	steppingShell:  "trap that steps to a pid file",
	polls:          "polls",
	stepsUnseen:    "steps unseen",
	tellsAndLeaves: "tells a grandchild and leaves",
	waitsForOutput: "waits for output",
	drainsItself:   "passes on and finishes",
	asksOtherwise:  "asks by other means",
	stepsWhenAsked: "steps when asked",
	adopts:         "adopts",
}

// drainitSends stands for drainit among the members of a family.
const drainitSends = -1

// member is one process of a family, and what it really got: that drainit can't know.
type member struct {
	does    behaviour
	started int // the index of the member that started it
	parent  int // the same until that has gone, then drainitSends
	group   int // the index of the leader of its process group
	last    bool
	dead    bool
	wakes   int  // how often something has woken it since the stop began, as its switches show
	pending bool // it blocks the signal, which has come
	told    bool // it changes when it is signalled, and has then signalled the others
	rested  bool // it has blocked the signal for a while
	asked   bool // to stop, by other means than a signal
	diedOf  unix.Signal
	drainit int     // how often drainit signalled it
	others  []int   // the indexes of the members that did
	later   bool    // one of them did after drainit
	again   bool    // drainit signalled it though one of them had
	call    Purpose // the step by which drainit did
	rule    string  // likewise

	foretold bool // none had died then but of drainit's signal, for want of a handler
}

// is reports whether a member behaves in one of these ways.
func (m *member) is(these ...behaviour) bool { return slices.Contains(these, m.does) }

func (m *member) signalled() bool { return m.drainit+len(m.others) > 0 }

// receive is what the kernel does with a signal for a member (signal(7)): one that it ignores is dropped, one
// that it blocks is pending, and any other wakes it. It is called before the signal counts.
func (m *member) receive() {
	switch {
	case m.ignores():
	case m.blocks():
		m.pending = true
	default:
		m.wakes++
	}
}

// ignores reports whether a member ignores the signal now.
func (m *member) ignores() bool {
	return m.is(ignoring, nestedInit) || m.signalled() && m.is(guardsItself, guardingShell)
}

// blocks reports whether a member blocks the signal now.
func (m *member) blocks() bool {
	return m.does == blocking || m.blocksAWhile() && !m.told || m.does == blocksItself && m.signalled()
}

// change is what a member that changes does when it has been signalled, before it signals others. One that
// blocks the signal for a while takes it; one that signals its process group gets that itself.
func (m *member) change() {
	m.told, m.pending = true, m.does == blocksItself
	m.wakes++
}

// handles reports whether a member has a handler, and acts whether that ends its work.
func (m *member) handles() bool { return m.acts() || m.is(handlerShell, trappingShell) }

func (m *member) acts() bool {
	return !m.is(noHandler, ignoring, blocking, nestedInit, pipeReader, handlerShell, diesLate, trappingShell,
		stepsWhenAsked)
}

// changes reports whether a member is another when it has been signalled: it takes a moment until it signals
// others, which a snapshot may show.
func (m *member) changes() bool {
	return m.does >= guardsItself && m.does < waitsOnly && !m.is(asksToStop, subreaper, drainingReader)
}

// blocksAWhile reports whether a member blocks the signal until it does something about it.
func (m *member) blocksAWhile() bool {
	return m.is(takesItLate, diesLate, polls)
}

// signalsGroup reports whether a member signals the process group that it is in.
func (m *member) signalsGroup() bool { return m.is(groupDies, blocksItself) }

// isReader reports whether a member reads what the child beside it writes.
func (m *member) isReader() bool { return m.is(pipeReader, drainingReader) }

// dies reports whether a signal ends a member at once.
func (m *member) dies() bool { return m.is(noHandler, pipeReader, stepsWhenAsked) }

// isShell reports whether it waits for its last child before it acts.
func (m *member) isShell() bool {
	return m.is(trapShell, handlerShell, passingShell, dashShell)
}

// inBackground reports whether a shell has put a child into the background.
func (m *member) inBackground(child *member) bool {
	return m.is(waitingShell, steppingShell, trappingShell, guardingShell, execsInTrap, asksToStop) ||
		m.isShell() && !child.last
}

// family is a worker and what it has started, in the order of their pids.
type family []member

// firstPID is the pid of the worker, the first of a family.
const firstPID = 10

// newFamily starts one. Parents are the indexes of those of the members after the first: drainitSends of a
// daemon, which drainit has adopted before the stop.
func newFamily(parents []int, does []behaviour) family {
	f := make(family, len(does))
	for i := range f {
		up, group := drainitSends, 0
		if i > 0 {
			up, group = parents[i-1], i
		}
		if up >= 0 {
			group = f[up].group
		}
		leads := up >= 0 && (does[up] == subreaper || does[up] == stepsGroup) &&
			!slices.Contains(parents[:i-1], up)
		if does[i] == groupRelay || leads {
			group = i
		}
		f[i] = member{does: does[i], started: up, parent: up, group: group,
			last: i == 0 || !slices.Contains(parents[i:], up)}
	}
	return f
}

// top is the index of the first above a member, as they were started: the worker, or a daemon.
func (f family) top(i int) int {
	for f[i].started != drainitSends {
		i = f[i].started
	}
	return i
}

// makesSense reports whether each reader has one that writes.
func (f family) makesSense() bool {
	for i := range f {
		if f[i].isReader() && f.writer(i) < 0 {
			return false
		}
	}
	return true
}

// writer is the index of the one that writes what a reader reads: the child that its
// parent has started before it; -1 for none.
func (f family) writer(reader int) int {
	for i := reader - 1; i > 0; i-- {
		if f[reader].isReader() && f[i].started == f[reader].started {
			return i
		}
	}
	return -1
}

// reads reports whether a member reads what a living one writes.
func (f family) reads(i int) bool {
	w := f.writer(i)
	return w >= 0 && !f[w].dead
}

func (f family) hasChild(of int) bool {
	return slices.ContainsFunc(f, func(m member) bool { return m.parent == of && !m.dead })
}

// foreground is the index of the last child that a member has started, -1 for none or a
// dead one.
func (f family) foreground(of int) int {
	for i := len(f) - 1; i > of; i-- {
		if f[i].started == of && f[i].last && !f[i].dead {
			return i
		}
	}
	return -1
}

// signal has one member send TERM to another, which does what it does about the first.
func (f family) signal(to, from int) {
	m := &f[to]
	if m.dead {
		return
	}
	again := m.signalled()
	m.receive()
	m.others, m.later = append(m.others, from), m.later || m.drainit > 0
	if !again {
		f.pass(to)
	}
}

// pass is how a member passes the signal on.
func (f family) pass(from int) {
	m := &f[from]
	for i := range f {
		child := f[i].parent == from && !f[i].dead
		switch {
		case i == from, m.changes() && !m.told: // blocksItself has it pending
		case m.does == groupRelay && (f[i].group == from || child),
			m.signalsGroup() && f[i].group == m.group:
			f.signal(i, from)
		case child && m.is(guardsItself, guardingShell, execsInTrap, takesItLate):
			f.signal(i, from)
		case child && m.does == asksToStop:
			f[i].asked = true
			f[i].wakes++
		case child && m.is(passesOn, passesLeaves, waitingShell, trappingShell, passesDies):
			f.signal(i, from)
		case m.does == subreaper && f[i].group == f.first(from):
			f.signal(i, from)
		case child && m.does == childRelay:
			f.signal(i, from)
			return
		}
	}
}

// mayDie are the members of which one can be the next to die, or to signal others; slow is whether all of
// them may take longer than the grace.
func (f family) mayDie() (these []int, slow bool) {
	slow = true
	for i := range f {
		if f[i].dead || !f.mayEnd(i) {
			continue
		}
		these = append(these, i)
		slow = slow && f[i].does == finishes
	}
	return these, slow
}

func (f family) mayEnd(i int) bool {
	m := &f[i]
	if !m.signalled() {
		return m.isReader() && !f.reads(i) || m.does == noHandler && m.asked
	}
	if m.changes() && !m.told {
		return true
	}
	switch m.does {
	case ignoring, blocking, nestedInit:
		return false
	case passesOn, groupRelay, childRelay, waitingShell, trappingShell, guardsItself, blocksItself,
		guardingShell, takesItLate:
		return !f.hasChild(i)
	case trapShell, handlerShell, passingShell, dashShell:
		return f.foreground(i) < 0
	case subreaper:
		return f.first(i) < 0 || f[f.first(i)].dead
	}
	return true
}

// endsWith is the index of the relay that ends with a member, its first child, since it was not signalled; -1
// for none.
func (f family) endsWith(i int) int {
	up := f[i].started
	if up >= 0 && f[up].does == groupRelay && !f[up].signalled() && !f[up].dead && f.first(up) == i {
		return up
	}
	return -1
}

// first is the index of the first child that a member has started, -1 for none.
func (f family) first(of int) int {
	return slices.IndexFunc(f, func(m member) bool { return m.started == of })
}

// die ends a member, whose children come to drainit, or to a subreaper below it.
func (f family) die(i int) {
	m := &f[i]
	if m.does == passingShell {
		for j := range f {
			if f[j].parent == i {
				f.signal(j, i)
			}
		}
	}
	m.dead = true
	if m.signalled() && (m.dies() || m.is(diesLate, handlerShell, passesDies, groupDies)) {
		m.diedOf = unix.SIGTERM
	}
	if m.parent != drainitSends {
		f[m.parent].wakes++ // by CHLD
	}
	reaper := m.parent
	for reaper != drainitSends && !f[reaper].is(subreaper, adopts) {
		reaper = f[reaper].parent
	}
	for j := range f {
		if f[j].parent == i {
			f[j].parent = reaper
		}
	}
}

// String is the family in the tests' notation (package trees), such as "trap0(dies1 finishes2)": behaviours,
// each with the index of the member. TestOneFamily reads it.
func (f family) String() string { return trees.Text(f.below(drainitSends)) }

func (f family) below(of int) (all []trees.Process) {
	for i := range f {
		if f[i].started == of {
			all = append(all, trees.Process{Name: behaves[f[i].does] + strconv.Itoa(i), Below: f.below(i)})
		}
	}
	return all
}
