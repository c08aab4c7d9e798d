package proc

import "slices"

// Snapshot is what /proc showed at one moment: a set of processes and which is whose
// child. It never changes, nor may the processes that it returns be changed. A nil Snapshot is
// that of a /proc which could not be read.
type Snapshot struct {
	all      []Process      // by pid
	children map[int][]int  // of each pid, the indexes of its children, by pid
	writers  map[File][]int // of the pipes that are read, by pid
}

// New makes a snapshot of processes, each of which has a pid of its own.
func New(all []Process) *Snapshot {
	s := &Snapshot{all: all, children: make(map[int][]int), writers: make(map[File][]int)}
	SortByPID(all)
	for i := range all {
		if !s.closesRing(i) {
			s.children[all[i].PPID] = append(s.children[all[i].PPID], i)
		}
	}
	return s
}

// SortByPID sorts processes.
func SortByPID(all []Process) {
	slices.SortFunc(all, func(a, b Process) int { return a.PID - b.PID })
}

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

// All returns the living processes, by pid.
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

// index returns the process's index in all.
func (s *Snapshot) index(pid int) (i int, ok bool) {
	return slices.BinarySearchFunc(s.all, pid, func(p Process, pid int) int { return p.PID - pid })
}

// Children returns the living children of pid, by pid.
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

// Group returns the living processes of a process group, by pid.
func (s *Snapshot) Group(pgid int) (members []*Process) {
	return slices.DeleteFunc(s.All(), func(p *Process) bool { return p.PGID != pgid })
}

// Descendants returns the living processes below root, which is not among them, parents
// before their children.
func (s *Snapshot) Descendants(root int) (below []*Process) {
	for _, i := range s.descendants(root) {
		if p := &s.all[i]; p.Alive() {
			below = append(below, p)
		}
	}
	return below
}

// descendants are the indexes of all below root, the dead too: what is below them lives.
func (s *Snapshot) descendants(root int) (below []int) {
	if s == nil {
		return nil
	}
	below = slices.Clone(s.children[root])
	for at := 0; at < len(below); at++ {
		below = append(below, s.children[s.all[below[at]].PID]...)
	}
	return below
}

// Hanging returns the processes below root that hang in the kernel, so that nothing is known of
// them but their names.
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
// root itself where it is: such a process sees to what is below it.
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

// Foreground returns what a shell with these children has in its foreground, if it has
// anything: its youngest child, and those of them that write to what one of these reads.
func (s *Snapshot) Foreground(children []*Process) (these []*Process) {
	if len(children) == 0 {
		return nil
	}
	these = []*Process{slices.MaxFunc(children, func(a, b *Process) int {
		if a.Start != b.Start {
			return int(int64(a.Start - b.Start))
		}
		return a.PID - b.PID
	})}
	for at := 0; at < len(these); at++ {
		for _, p := range children {
			if slices.Contains(s.WritersTo(these[at].PID), p.PID) && !slices.Contains(these, p) {
				these = append(these, p)
			}
		}
	}
	return these
}
