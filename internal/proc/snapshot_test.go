package proc

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// child is a process with a parent in a group of its own.
func child(pid, ppid int) Process {
	return Process{ID: ID{PID: pid}, PPID: ppid, PGID: pid, State: 'S'}
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
	all := New([]Process{member, child(7, 1), dead, child(11, 8), hangs, stopped, child(20, 0),
		child(21, 20)})
	rings := New([]Process{child(30, 31), child(31, 30), child(40, 42), child(41, 40), child(42, 41),
		child(5, 41), child(43, 42), child(50, 50)})
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

// What has died in it writes to no pipe, and its children are the root's; the snapshot itself is as
// before, and where any pipe may have a writer it stays so.
func TestSnapshotAfterADeath(t *testing.T) {
	reader := child(9, 7)
	reader.Reads = File{Inode: 1}
	for _, unsure := range []bool{false, true} {
		s := New([]Process{child(7, 1), child(8, 7), reader})
		s.AddWriter(reader.Reads, 7)
		s.unsure = unsure
		next := s.After(1, func(p *Process) bool { p.Untouched = true; return p.PID == 7 })
		if got := pidsOf(next.Children(1)); !slices.Equal(got, []int{8, 9}) || next.HasWriters(9) != unsure ||
			!next.find(8).Untouched {
			t.Errorf("children %v, %+v", got, next)
		}
		if got := pidsOf(s.Children(1)); !slices.Equal(got, []int{7}) || !s.HasWriters(9) ||
			s.find(8).Untouched {
			t.Errorf("children before %v, %+v", got, s)
		}
	}
}

// Nothing is known without /proc, and whatever asks gets that answer.
func TestSnapshotOfNothing(t *testing.T) {
	var s *Snapshot
	if p, ok := s.Process(1); ok || p.PID != 0 {
		t.Errorf("process 1 is %v", p)
	}
	if n := len(s.All()) + len(s.Children(1)) + len(s.Descendants(1)) + len(s.Group(1)) +
		len(s.WritersTo(1)); n != 0 || s.HasWriters(1) {
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
		t.Errorf("one that is to start is %v old, and one of which no start is known %v", future.Age(),
			Process{}.Age())
	}
}

// statLine is a /proc/PID/stat with this comm.
func statLine(comm string) string {
	return "17 (" + comm +
		") S 4 5 6 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 11 12 13 14 15 16 17 18 19 20 8 16386 23\n"
}

func TestParseStat(t *testing.T) {
	for _, comm := range []string{"npm start", "a) S 1 (b", "))))", "", "((", "x\ny", "\xff\x1b[2J"} {
		p, err := parseStat([]byte(statLine(comm)))
		want := Process{ID: ID{Start: 987654}, PPID: 4, PGID: 5, SID: 6, State: 'S', Comm: comm, count: 1,
			stackBase: 16, Ignored: 8, Handled: 16386, Details: Details{Call: Call{Sleeps: true, Number: -1}}}
		if err != nil || !reflect.DeepEqual(p, want) {
			t.Errorf("comm %q: %+v, %v", comm, p, err)
		}
	}
	// it has no group any more
	dying, err := parseStat([]byte(strings.Replace(statLine("x"), "S 4 5 6", "X 0 -1 -1", 1)))
	if err != nil || dying.PGID != -1 || dying.SID != -1 || dying.State != 'X' {
		t.Errorf("%+v, %v", dying, err)
	}
	whole := statLine("x")
	for _, bad := range []string{
		"", "17 (x", "17 x) S", whole[:strings.Index(whole, " 16386")],
		strings.Replace(whole, "16386", "y", 1)} {
		if p, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q gives %+v, want an error", bad, p)
		}
	}
}

func TestParseStatus(t *testing.T) {
	text := "Name:\tx\\nState:\tR\nState:\tS (sleeping)\nNSpid:\t17\t21\nThreads:\t3\nSigQ:\t0/96365\n" +
		"SigPnd:\t0000000000000010\nShdPnd:\t0000000000000020\nSigBlk:\t0000000000000001\n" +
		"SigIgn:\t0000000000000002\nSigCgt:\tfffffffc00004000\nCapInh:\t0\n" +
		"voluntary_ctxt_switches:\t42\nnonvoluntary_ctxt_switches:\t7\n"
	want := status{blocked: 1, ignored: 2, handled: 0xfffffffc00004000, pending: 0x30, threads: 3, state: 'S',
		switches: 49, certain: true}
	for _, pids := range []string{"NSpid:\t17\t21\n", "NSpid:\t1\n", "NSpid:\t17\t1\n", ""} {
		want.nested = strings.Contains(pids, "\t17\t1\n")
		if s := parseStatus([]byte(strings.Replace(text, "NSpid:\t17\t21\n", pids, 1))); s != want {
			t.Errorf("%q: %+v", pids, s)
		}
	}
	if !want.handled.Has(unix.SIGTERM) || !want.handled.Has(64) || want.handled.Has(unix.SIGINT) {
		t.Errorf("bit n-1 of %x is not signal n", want.handled)
	}
	for _, change := range [][2]string{
		{text, ""}, {"SigIgn", "SigXgn"}, {"000001", "00000g"}, {"\t3", "\tx"},
		{text[strings.Index(text, "Threads"):], ""}} {
		s := parseStatus([]byte(strings.Replace(text, change[0], change[1], 1)))
		if p := (Process{Handled: s.handled}); s.certain || s.rests() || p.MasksKnown() ||
			!p.Handles(unix.SIGTERM) || p.Handles(unix.SIGTSTP) {
			t.Errorf("with %q it is certain: %+v", change[1], s)
		}
	}
	if s := parseStatus([]byte(strings.Replace(text, "\t42", "\t", 1))); s.certain || s.rests() ||
		s.handled != want.handled {
		t.Errorf("without its switches it is certain: %+v", s)
	}
}

// A Go program has a handler for TERM from its start on, and none for TSTP until it asks for it.
func TestThisProcessIsReadInEachWay(t *testing.T) {
	pid := os.Getpid()
	stat := answer(t, func() (Process, error) { return new(Reader).Read(pid) })
	closely := answer(t, func() (Process, error) { return new(Reader).Process(pid) })
	shown, _ := answer(t, new(Reader).All).Process(pid)
	for _, p := range []Process{stat, closely, shown} {
		if p.PID != pid || p.PPID != os.Getppid() || !p.Alive() || p.Stopped() || p.Age() <= 0 ||
			!p.Handles(unix.SIGTERM) || p.Handles(unix.SIGTSTP) {
			t.Errorf("%+v, %v old", p, p.Age())
		}
	}
	for _, read := range []func(int) (Process, error){new(Reader).Read, new(Reader).Process} {
		if p, err := read(1 << 22); !IsGone(err) {
			t.Errorf("%+v, %v; want that there is none", p, err)
		}
	}
}
