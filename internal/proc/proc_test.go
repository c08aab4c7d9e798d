package proc

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// statLine is a /proc/PID/stat with this comm.
func statLine(comm string) string {
	return "17 (" + comm + ") S 4 5 6 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 11 12 13 14 15 16 17 18 19 20 8 16386 23\n"
}

func TestParseStat(t *testing.T) {
	for _, comm := range []string{"node", "npm start", "a) S 1 (b", "))))", "", "((", "x\ny", "\xff\x1b[2J"} {
		p, err := parseStat([]byte(statLine(comm)))
		want := Process{ID: ID{Start: 987654}, PPID: 4, PGID: 5, SID: 6, State: 'S', Comm: comm, count: 1, stackBase: 16, Ignored: 8, Handled: 16386}
		if err != nil || !reflect.DeepEqual(p, want) {
			t.Errorf("comm %q: %+v, %v", comm, p, err)
		}
	}
	for _, bad := range []string{"", "17", "17 (x", "17 x) S", "(x) S 1", "17 (x) S 1 2 3", strings.Replace(statLine("x"), "16386", "y", 1)} {
		if p, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q gives %+v, want an error", bad, p)
		}
	}
}

// A process that is about to be no more has no group.
func TestParseStatOfADyingProcess(t *testing.T) {
	p, err := parseStat([]byte(strings.Replace(statLine("x"), "S 4 5 6", "X 0 -1 -1", 1)))
	if err != nil || p.PGID != -1 || p.SID != -1 || p.State != 'X' {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestParseStatus(t *testing.T) {
	text := "Name:\tx\nState:\tS (sleeping)\nThreads:\t3\nSigQ:\t0/96365\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\n" +
		"SigBlk:\t0000000000000001\nSigIgn:\t0000000000000002\nSigCgt:\tfffffffc00004000\nvoluntary_ctxt_switches:\t42\nnonvoluntary_ctxt_switches:\t7\nCapInh:\t0\n"
	h, err := parseStatus([]byte(text))
	if want := (status{blocked: 1, ignored: 2, handled: 0xfffffffc00004000, threads: 3, state: 'S', switches: 49}); err != nil || h != want {
		t.Errorf("%+v, %v", h, err)
	}
	if !h.handled.Has(unix.SIGTERM) || !h.handled.Has(64) || h.handled.Has(unix.SIGINT) {
		t.Errorf("bit n-1 of %x is not signal n", h.handled)
	}
	for _, bad := range []string{"", "Threads:\t1\n", strings.Replace(text, "SigIgn", "SigXgn", 1), strings.Replace(text, "000001", "00000g", 1), strings.Replace(text, "\t3", "\tx", 1)} {
		if h, err := parseStatus([]byte(bad)); err == nil {
			t.Errorf("%q gives %+v, want an error", bad, h)
		}
	}
}

func TestValueOf(t *testing.T) {
	const text = "Name:\ta\\nState:\tX\nState:\tS (sleeping)\nsigmask:\t0000000000004001"
	for name, want := range map[string]string{"Name": `a\nState:	X`, "State": "S (sleeping)", "sigmask": "0000000000004001", "mask": "", "Sta": ""} {
		if got, _ := valueOf([]byte(text), name); string(got) != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// handlesNow asks of one process.
func handlesNow(pid int, sig unix.Signal) (bool, error) {
	p, err := new(Reader).Process(pid)
	if err != nil {
		return false, err
	}
	return p.Handles(sig), nil
}

// A Go program has a handler for TERM from its start on, and none for TSTP
// until it asks for it.
func TestWhatThisProcessHandles(t *testing.T) {
	for sig, want := range map[unix.Signal]bool{unix.SIGTERM: true, unix.SIGTSTP: false} {
		if got, err := handlesNow(os.Getpid(), sig); err != nil || got != want {
			t.Errorf("signal %d: %v, %v; want %v", sig, got, err, want)
		}
	}
	if got, err := handlesNow(1<<22, unix.SIGTERM); err == nil || got || !IsGone(err) {
		t.Errorf("a process that does not exist handles TERM: %v, %v", got, err)
	}
}

func TestSnapshot(t *testing.T) {
	proc := func(pid, ppid, pgid int, state byte) Process {
		return Process{ID: ID{PID: pid}, PPID: ppid, PGID: pgid, State: state}
	}
	all := New([]Process{
		proc(9, 7, 7, 'S'), proc(7, 1, 7, 'S'), proc(8, 1, 8, 'X'), proc(10, 9, 10, 'T'),
		proc(20, 0, 20, 'S'), proc(21, 20, 20, 'S'), proc(30, 31, 30, 'S'), proc(31, 30, 30, 'S'),
		proc(40, 42, 40, 'S'), proc(41, 40, 40, 'S'), proc(42, 41, 40, 'S'), proc(43, 42, 40, 'S'), proc(50, 50, 50, 'S'),
	})
	tests := []struct {
		name string
		got  []*Process
		want []int
	}{
		{"children, but the dead", all.Children(1), []int{7}},
		{"parents before their children", all.Descendants(1), []int{7, 9, 10}},
		{"what an exec into the container started is no child's", all.Descendants(7), []int{9, 10}},
		{"a ring of recycled pids ends", all.Descendants(30), []int{31}},
		{"a larger ring ends, with what hangs on it", all.Descendants(41), []int{42, 43}},
		{"a ring of one ends", all.Descendants(50), nil},
		{"a group", all.Group(7), []int{7, 9}},
		{"nothing", all.Descendants(99), nil},
	}
	for _, tt := range tests {
		var pids []int
		for _, p := range tt.got {
			pids = append(pids, p.PID)
		}
		if !slices.Equal(pids, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, pids, tt.want)
		}
	}
}

func TestSnapshotHasThisProcess(t *testing.T) {
	all, err := new(Reader).All()
	if err != nil {
		t.Fatal(err)
	}
	me, ok := all.Process(os.Getpid())
	if !ok || me.PPID != os.Getppid() || !me.Alive() || me.Stopped() || me.Age() <= 0 {
		t.Errorf("%+v, %v, %v old", me, ok, me.Age())
	}
}
