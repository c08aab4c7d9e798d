package program

import (
	"cmp"
	"slices"
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
	for _, row := range rows.Read(t, "testdata/programs.tsv", 5) {
		exe, comm := row[1], row[2]
		p := proc.Process{Comm: comm, Handled: handlers[cmp.Or(exe, comm)],
			Details: proc.Details{Exe: exe, Args: strings.Fields(row[3])}}
		if got := kinds[Of(&p)] + LauncherName(&p); got != row[4] {
			t.Errorf("%s: %q, want %q", row[0], got, row[4])
		}
	}
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

// The youngest child, and those that write to what it reads, wherever those stand.
func TestWhatAShellHasInItsForeground(t *testing.T) {
	for name, tt := range map[string]struct {
		starts  []uint64 // of the children 11, 12, …
		writers map[int]int
		want    []int
	}{
		"none":             {nil, nil, nil},
		"the youngest":     {[]uint64{100, 101}, nil, []int{12}},
		"of one tick":      {[]uint64{100, 100}, nil, []int{12}},
		"with a lower pid": {[]uint64{200, 101}, nil, []int{11}},
		"a pipeline": {
			[]uint64{99, 100, 100, 100}, map[int]int{13: 12, 14: 13}, []int{14, 13, 12}},
		"what another writes":      {[]uint64{99, 100}, map[int]int{12: 99}, []int{12}},
		"a pipe in the background": {[]uint64{98, 99, 100}, map[int]int{12: 11}, []int{13}},
	} {
		all := []proc.Process{{ID: proc.ID{PID: 10}, PPID: 1, State: 'S'}}
		for i, start := range tt.starts {
			all = append(all, proc.Process{
				ID: proc.ID{PID: 11 + i, Start: start}, PPID: 10, State: 'S',
				Details: proc.Details{Reads: proc.File{Inode: uint64(11 + i)}}})
		}
		s := proc.New(all)
		for reader, writer := range tt.writers {
			s.AddWriter(proc.File{Inode: uint64(reader)}, writer)
		}
		got := Foreground(s, s.Children(10))
		if !slices.EqualFunc(got, tt.want, func(p *proc.Process, pid int) bool { return p.PID == pid }) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// The output of $( … ) is waited for, and the builtin read is not.
func TestWhetherAShellReadsACommandsOutput(t *testing.T) {
	for _, tt := range []struct {
		exe     string
		call    int
		from    int
		blocked signals.Set
		want    Waiting
	}{
		{"bash", unix.SYS_READ, 3, signals.SetOf(unix.SIGINT), Waits},
		{"rbash", unix.SYS_READ, 3, signals.SetOf(unix.SIGINT), Waits},
		{"bash", unix.SYS_READ, 3, signals.SetOf(unix.SIGCHLD), NotWaiting},
		{"bash", unix.SYS_PSELECT6, 3, signals.SetOf(unix.SIGINT), NotWaiting},
		{"dash", unix.SYS_READ, 3, 0, Waits},
		{"dash", unix.SYS_READ, 2, signals.SetOf(unix.SIGINT), NotWaiting},
		{"busybox.static", unix.SYS_READ, 3, 0, Waits},
		{"busybox.static", unix.SYS_PPOLL, 3, 0, MayWait},
		{"zsh", unix.SYS_READ, 12, signals.SetOf(unix.SIGINT), MayWait},
	} {
		p := proc.Process{Details: proc.Details{
			Exe: tt.exe, Blocked: tt.blocked,
			Call: proc.Call{Sleeps: true, Number: tt.call, Descriptor: tt.from}}}
		if got := WaitingOf(&p); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// What can't be known may be so: the program, the call, or what its number means.
func TestWhetherAShellWaits(t *testing.T) {
	in := func(call int) proc.Call { return proc.Call{Sleeps: true, Number: call, Stack: 7} }
	for exe, by := range map[string]map[proc.Call]Waiting{
		"dash": {in(unix.SYS_WAIT4): Waits, in(unix.SYS_RT_SIGSUSPEND): NotWaiting,
			in(unix.SYS_READ): NotWaiting},
		"busybox.static": {in(unix.SYS_WAIT4): Waits, in(unix.SYS_RT_SIGSUSPEND): NotWaiting},
		"bash": {in(unix.SYS_WAIT4): MayWait, in(unix.SYS_READ): NotWaiting,
			in(unix.SYS_PSELECT6): NotWaiting},
		"mksh": {in(unix.SYS_WAIT4): MayWait, in(unix.SYS_RT_SIGSUSPEND): MayWait},
		"":     {in(unix.SYS_WAIT4): MayWait, in(unix.SYS_READ): MayWait},
	} {
		by[in(-1)], by[in(9999)], by[proc.Call{}] = MayWait, MayWait, NotWaiting
		for call, want := range by {
			if got := WaitingOf(&proc.Process{Details: proc.Details{Exe: exe, Call: call}}); got != want {
				t.Errorf("%q in %+v: %v, want %v", exe, call, got, want)
			}
		}
	}
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

// Masks as the kernel shows them for programs without a handler of their own, but for TERM: of Go 1.26,
// OpenJDK 17, PHP 8.2, Python with faulthandler, nginx and Ruby.
func TestHandlersThatMayBeTheRuntimes(t *testing.T) {
	for exe, tt := range map[string]struct {
		handled signals.Set
		want    []unix.Signal
	}{
		"app":     {0xfffffffd7fc1feff, []unix.Signal{unix.SIGQUIT, unix.SIGPWR, 37}},
		"java":    {0x2000000101005ccf, nil}, // it writes a dump on QUIT, and runs on
		"php8.2":  {0x0000000004004a07, []unix.Signal{unix.SIGQUIT, unix.SIGINT}},
		"php-fpm": {0x0000000004004a07, nil},
		"python3": {0x00000000000044ee, nil}, // with a handler of QUIT
		"nginx":   {0x0000000018016a07, nil},
		"ruby":    {0x0000000042017e4f, nil},
	} {
		p := proc.Process{Handled: tt.handled, Details: proc.Details{Exe: exe}}
		var got []unix.Signal
		for _, sig := range []unix.Signal{
			unix.SIGHUP, unix.SIGQUIT, unix.SIGINT, unix.SIGUSR1, unix.SIGPWR, 37} {
			if MayBeRuntimes(&p, sig) {
				got = append(got, sig)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", exe, got, tt.want)
		}
	}
}
