package proc

import (
	"os"
	"slices"
	"testing"
	"time"
)

// Nothing is known without /proc, and whatever asks gets that answer.
func TestSnapshotOfNothing(t *testing.T) {
	var s *Snapshot
	if p, ok := s.Process(1); ok || p.PID != 0 {
		t.Errorf("process 1 is %v", p)
	}
	is := func(Process) bool { return true }
	if n := len(s.All()) + len(s.Children(1)) + len(s.Descendants(1)) + len(s.Group(1)) + len(s.Nearest(1, is)) + len(s.WritersTo(1)); n != 0 {
		t.Errorf("it has %d processes", n)
	}
}

// The dead are in no answer but that to their pid; what is below them is.
func TestTheDeadOfASnapshot(t *testing.T) {
	dead := Process{ID: ID{PID: 2}, PPID: 1, PGID: 2, State: 'X'}
	below := Process{ID: ID{PID: 3}, PPID: 2, PGID: 2, State: 'S'}
	s := New([]Process{below, dead})
	for name, got := range map[string][]*Process{"all": s.All(), "descendants": s.Descendants(1), "children of the dead": s.Children(2), "group": s.Group(2)} {
		if len(got) != 1 || got[0].PID != 3 {
			t.Errorf("%s: %v, want 3", name, got)
		}
	}
	if got := s.Children(1); len(got) != 0 {
		t.Errorf("children: %v, want none", got)
	}
	if p, ok := s.Process(2); !ok || p.Alive() {
		t.Errorf("2 is %v, %v", p, ok)
	}
}

// A ring is cut at its lowest pid, wherever that hangs; what hangs on a ring does not
// close one.
func TestWhatHangsOnARing(t *testing.T) {
	s := tree([2]int{30, 32}, [2]int{31, 30}, [2]int{32, 31}, [2]int{5, 31}, [2]int{40, 32})
	for root, want := range map[int][]int{30: {31, 5, 32, 40}, 31: {5, 32, 40}, 32: {40}, 5: nil} {
		var got []int
		for _, p := range s.Descendants(root) {
			got = append(got, p.PID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("below %d: %v, want %v", root, got, want)
		}
	}
}

func TestLabelAndAge(t *testing.T) {
	p := Process{ID: ID{PID: 17}, Comm: "node"}
	if got := p.String(); got != "node[17]" {
		t.Errorf("it is called %q", got)
	}
	before := Ticks()
	if before == 0 {
		t.Fatal("the clock can't be read")
	}
	p.Start = before - 1000
	if age := p.Age(); age < 10*time.Second || age > 5*time.Minute {
		t.Errorf("started ten seconds ago, and %v old", age)
	}
	p.Start = before + 100_000
	if age := p.Age(); age != 0 {
		t.Errorf("to be started, and %v old", age)
	}
}

func TestReadOfOneProcess(t *testing.T) {
	if p, err := Read(os.Getpid()); err != nil || p.PID != os.Getpid() || p.PPID != os.Getppid() {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := Read(1 << 22); !IsGone(err) {
		t.Errorf("%+v, %v; want that there is none", p, err)
	}
}
