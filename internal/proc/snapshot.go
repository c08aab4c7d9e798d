package proc

import (
	"slices"
	"sort"
)

// Snapshot is what /proc showed at one moment: a set of processes and which is whose
// child. It never changes. A nil Snapshot is that of a /proc which could not be read.
type Snapshot struct {
	all      []Process     // by pid
	children map[int][]int // of each pid, the indexes of its children, by pid

	pipes      pipes            // if asked for
	foreground map[int]Waiting  // of shells, by pid
	stacks     map[int]uint64   // likewise
	evidence   map[int]Evidence // by pid
	untouched  map[ID]bool
	asleep     map[int]bool
	waiting    map[int]bool // of These, by pid
}

// New makes a snapshot of processes, each of which has a pid of its own.
func New(all []Process) *Snapshot {
	s := &Snapshot{all: all, children: make(map[int][]int)}
	SortByPID(all)
	for i := range all {
		if !s.closesRing(i) {
			s.children[all[i].PPID] = append(s.children[all[i].PPID], i)
		}
	}
	return s
}

// SortByPID sorts processes. What sorts through an interface is in the program once, and
// not for each type again: that of package slices, for a struct of this size, has 25 kB.
func SortByPID(all []Process) { sort.Sort(byPID(all)) }

type byPID []Process

func (p byPID) Len() int           { return len(p) }
func (p byPID) Less(i, j int) bool { return p[i].PID < p[j].PID }
func (p byPID) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }

// closesRing reports whether a process is the one with the lowest pid in a ring of
// parents. /proc is read one file after the other: a pid that is recycled meanwhile
// could close one. It is the only guard: whatever walks a snapshot comes to an end.
func (s *Snapshot) closesRing(i int) bool {
	up, ok := s.index(s.all[i].PPID)
	for range s.all {
		switch {
		case !ok, up < i: // a ring with a lower pid in it is cut there
			return false
		case up == i:
			return true
		}
		up, ok = s.index(s.all[up].PPID)
	}
	return false // a ring above it
}

// Size is how many processes it has, the dead too.
func (s *Snapshot) Size() int {
	if s == nil {
		return 0
	}
	return len(s.all)
}

// All returns the living processes, by pid. They are the snapshot's: nothing may change them.
func (s *Snapshot) All() (living []*Process) {
	if s == nil {
		return nil
	}
	for i := range s.all {
		if p := &s.all[i]; p.Alive() {
			living = append(living, p)
		}
	}
	return living
}

// Process returns the process with this pid, dead or alive.
func (s *Snapshot) Process(pid int) (p Process, ok bool) {
	found, ok := s.find(pid)
	if !ok {
		return p, false
	}
	return *found, true
}

func (s *Snapshot) find(pid int) (p *Process, ok bool) {
	if s == nil {
		return nil, false
	}
	i, ok := s.index(pid)
	if !ok {
		return nil, false
	}
	return &s.all[i], true
}

// index is where in all the process with this pid stands.
func (s *Snapshot) index(pid int) (i int, ok bool) {
	i = sort.Search(len(s.all), func(i int) bool { return s.all[i].PID >= pid })
	return i, i < len(s.all) && s.all[i].PID == pid
}

// Children returns the living children of pid, by pid. They are the snapshot's: nothing may
// change them.
func (s *Snapshot) Children(pid int) (children []*Process) {
	if s == nil {
		return nil
	}
	for _, i := range s.children[pid] {
		if p := &s.all[i]; p.Alive() {
			children = append(children, p)
		}
	}
	return children
}

// Group returns the living processes of a process group, by pid. They are the snapshot's:
// nothing may change them.
func (s *Snapshot) Group(pgid int) (members []*Process) {
	if s == nil {
		return nil
	}
	for i := range s.all {
		if p := &s.all[i]; p.PGID == pgid && p.Alive() {
			members = append(members, p)
		}
	}
	return members
}

// Descendants returns the living processes below root, which is not among them, parents
// before their children. They are the snapshot's: nothing may change them.
func (s *Snapshot) Descendants(root int) (below []*Process) {
	these := s.descendants(root)
	if len(these) == 0 {
		return nil
	}
	below = make([]*Process, 0, len(these))
	for _, i := range these {
		if p := &s.all[i]; p.Alive() {
			below = append(below, p)
		}
	}
	return below
}

// descendants are the indexes of all below root, the dead too: what is below them lives.
func (s *Snapshot) descendants(root int) (below []int) {
	if s == nil || len(s.children[root]) == 0 {
		return nil
	}
	below = append(make([]int, 0, len(s.all)), s.children[root]...)
	for at := 0; at < len(below); at++ {
		below = append(below, s.children[s.all[below[at]].PID]...)
	}
	return below
}

// Hanging returns those below root that hang in the kernel, so that nothing is known of them
// but their names.
func (s *Snapshot) Hanging(root int) (below []*Process) {
	for _, i := range s.descendants(root) {
		if p := s.all[i]; p.hangs && !p.Alive() {
			p.State = 'D'
			below = append(below, &p)
		}
	}
	return below
}

// Nearest returns the first process on each way down from root for which is is true,
// root itself where it is: what is below such a one is that one's business.
func (s *Snapshot) Nearest(root int, is func(Process) bool) (nearest []Process) {
	p, ok := s.Process(root)
	if !ok {
		return nil
	}
	if is(p) {
		return []Process{p}
	}
	for _, child := range s.Children(root) {
		nearest = append(nearest, s.Nearest(child.PID, is)...)
	}
	return nearest
}

// MayWait reports whether a shell sleeps as one that waits for a child, in the foreground
// or not; false where that was not asked for.
func (s *Snapshot) MayWait(shell int) bool { return s != nil && s.waiting[shell] }

// WaitsInForeground reports whether a shell waits for a command in its foreground; NotWaiting
// where that was not asked for.
func (s *Snapshot) WaitsInForeground(shell int) Waiting {
	if s == nil {
		return NotWaiting
	}
	return s.foreground[shell]
}

// Stack returns where the stack of a shell is that sleeps; 0 where it was not asked for, or does
// not. As long as the shell waits for one command it is the same, and mostly another one
// when a trap has run: a shell waits for the next from another depth, or from within its trap.
func (s *Snapshot) Stack(shell int) uint64 {
	if s == nil {
		return 0
	}
	return s.stacks[shell]
}

// Foreground returns what a shell with these children has in its foreground, if it has
// anything: its youngest child, and those of them that write to what one of these reads. A
// pipe counts as far as it was asked for.
func (s *Snapshot) Foreground(children []*Process) (these []*Process) {
	var youngest *Process
	for _, p := range children {
		if youngest == nil || p.Start > youngest.Start || p.Start == youngest.Start && p.PID > youngest.PID {
			youngest = p
		}
	}
	if youngest == nil {
		return nil
	}
	these = []*Process{youngest}
	for at := 0; at < len(these); at++ {
		for _, p := range children {
			if slices.Contains(s.writersTo(these[at].PID), p.PID) && !slices.Contains(these, p) {
				these = append(these, p)
			}
		}
	}
	return these
}

// Evidence returns what shows later whether a process has received a signal since; nil
// where that was not asked for, or not read in time.
func (s *Snapshot) Evidence(pid int) Evidence {
	if s == nil {
		return nil
	}
	return s.evidence[pid]
}

// Untouched reports whether a process is proven to have received no signal since the
// evidence that was asked about; false where none was.
func (s *Snapshot) Untouched(id ID) bool { return s != nil && s.untouched[id] }

// Asleep reports whether a process slept before it was asked which are untouched; false
// where that was not asked for.
func (s *Snapshot) Asleep(pid int) bool { return s != nil && s.asleep[pid] }

// Details are what a snapshot knows beside its processes.
type Details struct {
	Writers   map[int][]int   // of the readers of pipes: the pids of those that write to them
	Waits     map[int]Waiting // shells, in the foreground
	Stacks    map[int]uint64  // of shells
	Evidence  map[int]Evidence
	Untouched map[ID]bool
	Asleep    map[int]bool
	MayWait   map[int]bool // shells
}

// With returns the snapshot with these details: a made-up one.
func (s *Snapshot) With(d Details) *Snapshot {
	s.pipes, s.foreground, s.stacks, s.evidence = madeUpPipes(d.Writers), d.Waits, d.Stacks, d.Evidence
	s.untouched, s.asleep, s.waiting = d.Untouched, d.Asleep, d.MayWait
	return s
}
