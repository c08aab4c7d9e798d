package program

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/test/harness/rows"
)

// What runs a process, the name that it bears, and its arguments tell the kind of it, and the name of a
// launcher.
func TestProgram(t *testing.T) {
	kinds := map[Kind]string{Shell: "shell", Launcher: "launches "}
	rows.Compare(t, "testdata/programs.tsv", 5, func(row []string) any {
		exe, comm := row[1], row[2]
		p := proc.Process{Comm: comm, Handled: handlers[cmp.Or(exe, comm)],
			Details: proc.Details{Exe: exe, Args: strings.Fields(row[3])}}
		return kinds[Of(&p)] + LauncherName(&p)
	})
}

// A title may be written over the arguments, blanks and all, and an argument may
// be empty or hold anything.
func TestProgramsWithOddArguments(t *testing.T) {
	for _, args := range [][]string{
		{""}, {"", ""}, {"-"}, {"--"}, {"/"}, {"\n"}, {"npm start"}, {"node", ""}, {".npm"}, {"npm."},
		{"\xff", "-npm"}} {
		for _, exe := range []string{"node", "busybox", "go", "", "."} {
			s := proc.Process{Details: proc.Details{Exe: exe, Args: args}}
			if got := Of(&s); got == Shell ||
				got == Launcher && !strings.Contains(strings.Join(args, " "), "npm") {
				t.Errorf("%q of %q is a %v", args, exe, got)
			}
		}
	}
}

func TestWhatAShellHasInItsForeground(t *testing.T) {
	rows.Compare(t, "testdata/children.tsv", 4, func(row []string) any {
		all := []proc.Process{{ID: proc.ID{PID: 10}, PPID: 1, State: 'S'}}
		for i, start := range strings.Fields(row[1]) {
			p := proc.Process{ID: proc.ID{PID: 11 + i}, PPID: 10, State: 'S',
				Details: proc.Details{Reads: proc.File{Inode: uint64(11 + i)}}}
			p.Start, _ = strconv.ParseUint(start, 10, 64)
			all = append(all, p)
		}
		s := proc.New(all)
		for pipe := range strings.FieldsSeq(row[2]) {
			var reader proc.File
			var writer int
			_, _ = fmt.Sscanf(pipe, "%d<%d", &reader.Inode, &writer)
			s.AddWriter(reader, writer)
		}
		got := ""
		for _, p := range Foreground(s, s.Children(10)) {
			got += fmt.Sprint(" ", p.PID)
		}
		return strings.TrimSpace(got)
	})
}

func TestWhetherAShellWaits(t *testing.T) {
	calls := map[string]int{"wait4": unix.SYS_WAIT4, "rt_sigsuspend": unix.SYS_RT_SIGSUSPEND,
		"read": unix.SYS_READ, "pselect6": unix.SYS_PSELECT6, "ppoll": unix.SYS_PPOLL,
		"not shown": -1, "unknown": 9999}
	waitings := map[Waiting]string{Waits: "waits", MayWait: "may wait"}
	rows.Compare(t, "testdata/waiting.tsv", 5, func(row []string) any {
		p := proc.Process{Details: proc.Details{Exe: row[0], Blocked: set(t, row[3])}}
		if row[1] != "none" {
			p.Call = proc.Call{Sleeps: true, Number: calls[row[1]], Stack: 7}
			p.Call.Descriptor, _ = strconv.Atoi(row[2])
		}
		return waitings[WaitingOf(&p)]
	})
}

func TestNearest(t *testing.T) {
	// 1 - 2 - 3 - 4
	//   |   \ 5 - 6
	//   \ 7
	var all []proc.Process
	for pid, ppid := range map[int]int{1: 0, 2: 1, 3: 2, 4: 3, 5: 2, 6: 5, 7: 1} {
		all = append(all, proc.Process{ID: proc.ID{PID: pid}, PPID: ppid, State: 'S'})
	}
	family := proc.New(all)
	for _, tt := range []struct {
		name    string
		root    int
		handles []int
		want    []int
	}{
		{"root alone if it handles it", 2, []int{2, 3, 4, 6}, []int{2}},
		{"nothing below one that handles it", 2, []int{3, 4}, []int{3}},
		{"one on each way", 2, []int{3, 6}, []int{3, 6}},
		{"the lowest on a way if it is the first", 2, []int{4, 6}, []int{4, 6}},
		{"none beside root", 2, []int{1, 7}, nil},
		{"no root", 99, []int{3}, nil},
	} {
		got := Nearest(family, tt.root,
			func(p proc.Process) bool { return slices.Contains(tt.handles, p.PID) })
		if !slices.EqualFunc(got, tt.want, func(p proc.Process, pid int) bool { return p.PID == pid }) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestHandlersThatMayBeTheRuntimes(t *testing.T) {
	rows.Compare(t, "testdata/runtimes.tsv", 3, func(row []string) any {
		p, got := proc.Process{Handled: set(t, row[1]), Details: proc.Details{Exe: row[0]}}, ""
		for _, name := range strings.Fields("HUP QUIT INT USR1 PWR RTMIN+3") {
			if sig, err := signals.Parse(name); err != nil || HandlerIsRuntimes(&p, sig) {
				got += " " + name
			}
		}
		return strings.TrimSpace(got)
	})
}
