package proc

import (
	"slices"
	"testing"
	"time"
)

// child is a process with a parent in a group of its own.
func child(pid, ppid int) Process {
	return Process{ID: ID{PID: pid}, PPID: ppid, PGID: pid, State: 'S'}
}

// tree is a snapshot of processes that are written as child, parent.
func tree(pairs ...[2]int) *Snapshot {
	var all []Process
	for _, p := range pairs {
		all = append(all, child(p[0], p[1]))
	}
	return New(all)
}

func pidsOf(all []*Process) (pids []int) {
	for _, p := range all {
		pids = append(pids, p.PID)
	}
	return pids
}

// The dead are in no answer but that to their pid; what is below them is. A ring of recycled pids is
// cut at its lowest pid, wherever that hangs, and what hangs on a ring closes none.
func TestSnapshot(t *testing.T) {
	dead, stopped, hangs := child(8, 1), child(10, 9), child(12, 1)
	dead.State, stopped.State, hangs.unread = 'X', 'T', true
	member := child(9, 7)
	member.PGID = 7
	all := New([]Process{member, child(7, 1), dead, child(11, 8), hangs, stopped, child(20, 0), child(21, 20)})
	rings := tree([2]int{30, 31}, [2]int{31, 30}, [2]int{40, 42}, [2]int{41, 40}, [2]int{42, 41}, [2]int{5, 41}, [2]int{43, 42}, [2]int{50, 50})
	for name, tt := range map[string]struct {
		got  []*Process
		want []int
	}{
		"all, but the dead":                 {all.All(), []int{7, 9, 10, 11, 20, 21}},
		"children, but the dead":            {all.Children(1), []int{7}},
		"children of the dead":              {all.Children(8), []int{11}},
		"parents before their children":     {all.Descendants(1), []int{7, 9, 11, 10}},
		"an exec into the container":        {all.Descendants(7), []int{9, 10}},
		"a group":                           {all.Group(7), []int{7, 9}},
		"what hangs":                        {all.Hanging(1), []int{12}},
		"nothing":                           {all.Descendants(99), nil},
		"a ring":                            {rings.Descendants(30), []int{31}},
		"a larger ring, with what it bears": {rings.Descendants(40), []int{41, 5, 42, 43}},
		"its middle":                        {rings.Descendants(41), []int{5, 42, 43}},
		"its end":                           {rings.Descendants(42), []int{43}},
		"a ring of one":                     {rings.Descendants(50), nil},
	} {
		if got := pidsOf(tt.got); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	if p, ok := all.Process(8); !ok || p.Alive() {
		t.Errorf("the dead one is %v, %v", p, ok)
	}
}

// Nothing is known without /proc, and whatever asks gets that answer.
func TestSnapshotOfNothing(t *testing.T) {
	var s *Snapshot
	if p, ok := s.Process(1); ok || p.PID != 0 {
		t.Errorf("process 1 is %v", p)
	}
	if n := len(s.All()) + len(s.Children(1)) + len(s.Descendants(1)) + len(s.Group(1)) + len(s.WritersTo(1)); n != 0 || s.HasWriters(1) {
		t.Errorf("it has %d processes", n)
	}
}

func TestLabelAndAge(t *testing.T) {
	now := Ticks()
	if now == 0 {
		t.Fatal("the clock can't be read")
	}
	past, future := Process{ID: ID{17, now - 1000}, Comm: "node"}, Process{ID: ID{17, now + 100_000}}
	if age := past.Age(); past.String() != "node[17]" || age < 10*time.Second || age > 5*time.Minute {
		t.Errorf("%v started ten seconds ago, and is %v old", past, age)
	}
	if future.Age() != 0 || (Process{}).Age() != 0 {
		t.Errorf("one that is to start is %v old, and one of which no start is known %v", future.Age(), Process{}.Age())
	}
}
