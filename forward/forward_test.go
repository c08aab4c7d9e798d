package forward

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/reaper"
)

func TestParse(t *testing.T) {
	good := map[string]unix.Signal{
		"TERM": unix.SIGTERM, "SIGTERM": unix.SIGTERM, "sigterm": unix.SIGTERM, "15": unix.SIGTERM,
		"POLL": unix.SIGIO, "SIGIO": unix.SIGIO, "CLD": unix.SIGCHLD, "IOT": unix.SIGABRT,
		"RTMIN": 34, "SIGRTMIN": 34, "RTMIN+3": 37, "sigrtmin+30": 64, "RTMAX": 64, "RTMAX-2": 62, "64": 64,
	}
	for text, want := range good {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "0", "65", "-1", "+15", "1.5", "FOO", "SIG", "SIGSIGTERM", " TERM", "TERM ",
		"RTMIN+31", "RTMIN-1", "RTMIN+", "RTMIN3", "RTMAX+1", "RTMAX-31", "RTMIN+-1", "RTMIN++1",
	} {
		if got, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", text, got)
		} else if !strings.Contains(err.Error(), "no signal") {
			t.Errorf("Parse(%q): %v", text, err)
		}
	}
}

func TestNamesParseBack(t *testing.T) {
	for sig := unix.Signal(1); sig <= maxSignal; sig++ {
		if got, err := Parse(Name(sig)); err != nil || got != sig {
			t.Errorf("signal %d is %s, which is %v, %v", sig, Name(sig), got, err)
		}
	}
}

func TestAllLeavesOutWhatIsNeverPassedOn(t *testing.T) {
	all := All()
	for _, sig := range []unix.Signal{unix.SIGKILL, unix.SIGSTOP, unix.SIGPROF, unix.SIGURG, unix.SIGCHLD, unix.SIGPIPE, 32, 33, 34} {
		if slices.Contains(all, sig) {
			t.Errorf("%s is passed on", Name(sig))
		}
	}
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGSEGV, unix.SIGQUIT, unix.SIGABRT, unix.SIGTSTP, 35, 64} {
		if !slices.Contains(all, sig) {
			t.Errorf("%s is not passed on", Name(sig))
		}
	}
	if len(all) != 64-9 {
		t.Errorf("%d signals are passed on, want 55", len(all))
	}
}

func TestParseRewrite(t *testing.T) {
	good := map[string][2]unix.Signal{
		"TERM:QUIT": {15, 3}, "15:3": {15, 3}, "sigterm:RTMIN+3": {15, 37}, "HUP:0": {1, Drop}, "TSTP:USR1": {20, 10}, "TERM:KILL": {15, 9},
	}
	for rule, want := range good {
		from, to, err := ParseRewrite(rule)
		if err != nil || from != want[0] || to != want[1] {
			t.Errorf("ParseRewrite(%q) = %d:%d, %v; want %v", rule, from, to, err, want)
		}
	}
	for _, rule := range []string{
		"", ":", "TERM", "TERM:", ":QUIT", "TERM:QUIT:INT", "0:TERM", "KILL:TERM", "STOP:0", "CHLD:TERM", "URG:0", "PIPE:0",
		"TERM:STOP", "TERM:32", "TERM:33", "TERM:65", "34:TERM", "TERM=QUIT",
	} {
		if from, to, err := ParseRewrite(rule); err == nil {
			t.Errorf("ParseRewrite(%q) = %d:%d, want an error", rule, from, to)
		}
	}
}

func TestRewritesApply(t *testing.T) {
	r := Rewrites{unix.SIGTERM: unix.SIGQUIT, unix.SIGHUP: Drop}
	for sig, want := range map[unix.Signal]unix.Signal{unix.SIGTERM: unix.SIGQUIT, unix.SIGHUP: Drop, unix.SIGINT: unix.SIGINT} {
		if got := r.Apply(sig); got != want {
			t.Errorf("%s becomes %d, want %d", Name(sig), got, want)
		}
	}
	if got, want := r.String(), "SIGHUP:0 SIGTERM:SIGQUIT"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	if got := Rewrites(nil).Apply(unix.SIGINT); got != unix.SIGINT {
		t.Errorf("no rewrites make %v of SIGINT", got)
	}
}

// A tree is written as child:parent.
func tree(pairs ...[2]int) reaper.Tree {
	var all []reaper.Process
	for _, p := range pairs {
		all = append(all, reaper.Process{ID: reaper.ID{PID: p[0]}, PPID: p[1], State: 'S'})
	}
	return reaper.NewTree(all)
}

func TestFirstOnEachWayDown(t *testing.T) {
	// 1 - 2 - 3 - 4
	//   |   \ 5 - 6
	//   \ 7
	family := tree([2]int{1, 0}, [2]int{2, 1}, [2]int{3, 2}, [2]int{4, 3}, [2]int{5, 2}, [2]int{6, 5}, [2]int{7, 1})
	tests := []struct {
		name    string
		tree    reaper.Tree
		root    int
		catches []int
		want    []int
	}{
		{"root alone if it catches", family, 2, []int{2, 3, 4, 6}, []int{2}},
		{"nothing below one that catches", family, 2, []int{3, 4}, []int{3}},
		{"one on each way", family, 2, []int{3, 6}, []int{3, 6}},
		{"the lowest on a way if it is the first", family, 2, []int{4, 6}, []int{4, 6}},
		{"nobody beside root", family, 2, []int{1, 7}, nil},
		{"nobody", family, 2, nil, nil},
		{"no root", family, 99, []int{3}, nil},
		{"a ring ends", tree([2]int{2, 3}, [2]int{3, 2}), 2, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			catches := func(pid int) bool { return slices.Contains(tt.catches, pid) }
			var got []int
			for _, p := range FirstOnEachWayDown(tt.tree, tt.root, catches) {
				got = append(got, p.PID)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
