package proc

import (
	"slices"
	"sort"
)

// Snapshot is a set of processes that /proc showed at one moment, with the children of each. Once it is
// complete it never changes, and no caller may change the processes that it returns. A nil Snapshot stands
// for a /proc that could not be read.
type Snapshot struct {
	all      []Process          // by pid
	children map[int][]*Process // of each pid, by pid
	unsure   bool               // there was no time for all of the writers
	writers  map[File][]int     // the pids that write to each pipe that is read
}

// New makes a snapshot of processes, each of which has a pid of its own.
func New(all []Process) *Snapshot {
	s := &Snapshot{all: all, children: make(map[int][]*Process), writers: make(map[File][]int)}
	slices.SortFunc(all, func(a, b Process) int { return a.PID - b.PID })
	for i := range all {
		if p := &all[i]; !s.closesRing(p) {
			s.children[p.PPID] = append(s.children[p.PPID], p)
		}
	}
	return s
}

// closesRing reports whether a process is the one with the lowest pid in a ring of parents. /proc is read one
// file after the other, so a pid that is recycled meanwhile could close such a ring. New leaves that process
// out of the children of its parent, so whatever walks a snapshot comes to an end.
func (s *Snapshot) closesRing(p *Process) bool {
	up := s.find(p.PPID)
	for range s.all { // at most: there may be a ring above
		if up == nil || up.PID <= p.PID { // a ring with a lower pid is cut there
			break
		}
		up = s.find(up.PPID)
	}
	return up == p
}

// After returns the snapshot that follows the death of some processes. dies reports whether a process is one
// of them, and may change it. The children of the dead become children of root.
func (s *Snapshot) After(root int, dies func(*Process) bool) *Snapshot {
	all, dead := slices.Clone(s.all), make(map[int]bool)
	for i := range all {
		if p := &all[i]; p.Alive() && dies(p) {
			p.State, dead[p.PID] = 'X', true
		}
	}
	for i := range all {
		if dead[all[i].PPID] {
			all[i].PPID = root
		}
	}
	next := New(all)
	next.unsure = s.unsure
	for pipe, pids := range s.writers {
		next.writers[pipe] = slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return dead[pid] })
	}
	return next
}

// find returns the process with this pid, dead or alive, nil for none.
func (s *Snapshot) find(pid int) *Process {
	if s == nil {
		return nil
	}
	i := sort.Search(len(s.all), func(i int) bool { return s.all[i].PID >= pid }) // which copies none
	if i == len(s.all) || s.all[i].PID != pid {
		return nil
	}
	return &s.all[i]
}

// Process returns the process with this pid, dead or alive.
func (s *Snapshot) Process(pid int) (p Process, ok bool) {
	if at := s.find(pid); at != nil {
		return *at, true
	}
	return p, false
}

// All returns the living processes, by pid.
func (s *Snapshot) All() (living []*Process) {
	if s == nil {
		return nil
	}
	for i := range s.all {
		living = append(living, &s.all[i])
	}
	return alive(living)
}

// alive removes the dead from these processes.
func alive(these []*Process) []*Process {
	return slices.DeleteFunc(these, func(p *Process) bool { return !p.Alive() })
}

// Group returns the living processes of a process group, by pid.
func (s *Snapshot) Group(pgid int) (members []*Process) {
	return slices.DeleteFunc(s.All(), func(p *Process) bool { return p.PGID != pgid })
}

// Children returns the living children of pid, by pid.
func (s *Snapshot) Children(pid int) (children []*Process) { return alive(s.childrenOf(pid)) }

// Descendants returns the living processes below root, without root, parents before their children.
func (s *Snapshot) Descendants(root int) (below []*Process) { return alive(s.descendants(root)) }

// Hanging returns the processes below root that hang in the kernel. Only their pids, names and parents are
// known.
func (s *Snapshot) Hanging(root int) (below []*Process) {
	return slices.DeleteFunc(s.descendants(root), func(p *Process) bool { return !p.unread })
}

// descendants returns all processes below root. The dead are among them: a zombie may still be the parent of
// a living process, as a snapshot is not read in one moment.
func (s *Snapshot) descendants(root int) (below []*Process) {
	below = s.childrenOf(root)
	for at := 0; at < len(below); at++ {
		below = append(below, s.childrenOf(below[at].PID)...)
	}
	return below
}

// childrenOf returns all children of pid, the dead too.
func (s *Snapshot) childrenOf(pid int) []*Process {
	if s == nil {
		return nil
	}
	return slices.Clone(s.children[pid])
}
