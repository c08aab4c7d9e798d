package proc

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// family starts a perl script whose processes print a line each when they are
// ready, and waits for so many lines. At the end all of the family are killed.
func family(t testing.TB, lines int, script string, args ...string) (top int, said []string) {
	t.Helper()
	need(t, "perl")
	const words = `use strict; use POSIX ();
		sub say { syswrite STDOUT, "@_\n" } sub forever { select undef, undef, undef, 1000 while 1 }
		sub spawn(&) { my $pid = fork; die "cannot fork: $!" unless defined $pid; return $pid if $pid; $_[0]->(); POSIX::_exit(0) }
		$SIG{$_} = "DEFAULT" for qw(HUP INT QUIT TERM USR1);
	`
	cmd := exec.Command("perl", append([]string{"-e", words + script}, args...)...)
	in := startGroup(t, cmd)
	for range lines {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("the family ended: %v", err)
		}
		said = append(said, strings.TrimSuffix(line, "\n"))
	}
	go io.Copy(io.Discard, in)
	return cmd.Process.Pid, said
}

// startGroup starts a command in a process group of its own, which is killed at the end.
// It returns what the command prints.
func startGroup(t testing.TB, cmd *exec.Cmd) *bufio.Reader {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	return bufio.NewReader(out)
}

// takeBelow takes the snapshot of a stop, with the test's own process for drainit.
func takeBelow(until time.Time, sigs ...unix.Signal) (*Snapshot, error) {
	return new(Reader).Take(Want{Parents: os.Getpid(), Signals: sigs, Until: until})
}

// readBelow takes a snapshot of what is below the test's own process and returns what is
// at or below top. It takes a second at most for those that seem to wait for a signal.
func readBelow(t testing.TB, top int, sigs ...unix.Signal) []*Process {
	t.Helper()
	all, err := takeBelow(time.Now().Add(time.Second), sigs...)
	if err != nil {
		t.Fatal(err)
	}
	in := map[int]bool{top: true}
	return slices.DeleteFunc(all.Descendants(os.Getpid()), func(s *Process) bool {
		in[s.PID] = in[s.PID] || in[s.PPID]
		return !in[s.PID]
	})
}

func TestParentsStandBeforeTheirChildren(t *testing.T) {
	top, said := family(t, 4, `
		say "ready $$"; spawn { say "ready $$"; spawn { say "ready $$"; forever }; forever }; spawn { say "ready $$"; forever }; forever`)
	seen := readBelow(t, top)
	if len(seen) != len(said) {
		t.Fatalf("%d processes, want %d: %+v", len(seen), len(said), seen)
	}
	place := map[int]int{os.Getpid(): -1}
	for i, s := range seen {
		above, ok := place[s.PPID]
		if place[s.PID] = i; !ok || above >= i {
			t.Errorf("%d stands before its parent %d", s.PID, s.PPID)
		}
		if s.PGID != top || s.Start == 0 || s.State != 'S' && s.State != 'R' || s.Comm != "perl" {
			t.Errorf("%+v", s)
		}
	}
}

// It is not asked what those are that have neither drainit for their parent nor
// children.
func TestProgramsOfThoseThatAreReadClosely(t *testing.T) {
	top, _ := family(t, 2, `spawn { spawn { say "ready"; forever }; say "ready"; forever }; forever`, "", "an argument")
	perl, err := exec.LookPath("perl")
	if err == nil {
		perl, err = filepath.EvalSymlinks(perl)
	}
	if err != nil {
		t.Fatal(err)
	}
	seen := readBelow(t, top)
	for _, s := range seen[:2] {
		if s.Exe != filepath.Base(perl) || len(s.Args) != 5 || s.Args[0] != "perl" || s.Args[3] != "" || s.Args[4] != "an argument" {
			t.Errorf("%q of %q", s.Args, s.Exe)
		}
	}
	if s := seen[2]; s.Exe != "" || s.Args != nil {
		t.Errorf("asked though it is not needed: %q of %q", s.Args, s.Exe)
	}
}

func TestWhichSignalsAProcessHandles(t *testing.T) {
	tests := map[string]struct {
		does    string
		handled string
		ignores bool // HUP
	}{
		"nothing":                              {`1`, "", false},
		"handlers":                             {`$SIG{TERM} = $SIG{INT} = sub { }`, "INT TERM", false},
		"one handler":                          {`$SIG{INT} = sub { }`, "INT", false},
		"a handler for a signal not asked for": {`$SIG{USR1} = sub { }`, "USR1", false},
		"ignored":                              {`$SIG{TERM} = $SIG{HUP} = "IGNORE"`, "", true},
		"blocked, by one that waits for it by signalfd": {waits + `waits`, "TERM", false},
		"blocked, by one that waits for a child, say":   {blocks, "", false},
		"blocked and ignored":                           {`$SIG{TERM} = "IGNORE"; POSIX::sigprocmask(POSIX::SIG_BLOCK(), POSIX::SigSet->new(POSIX::SIGTERM()))`, "", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			top, _ := family(t, 1, tt.does+`; say "ready"; forever`)
			s := readBelow(t, top, unix.SIGTERM, unix.SIGINT, unix.SIGTERM)[0]
			var handled []string
			for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGUSR1} {
				if s.Handles(sig) {
					handled = append(handled, strings.TrimPrefix(unix.SignalName(sig), "SIG"))
				}
			}
			if got := strings.Join(handled, " "); got != tt.handled || s.Ignores(unix.SIGHUP) != tt.ignores {
				t.Errorf("handles %q, ignores HUP %v; want %q, %v", got, s.Ignores(unix.SIGHUP), tt.handled, tt.ignores)
			}
		})
	}
}

// What waits for a signal sleeps. When the time is over, few of such are asked again.
func TestWaitersAreAskedForABoundedTime(t *testing.T) {
	const waiting = 50
	_, said := family(t, waiting, blocks+`for (2 .. shift) { spawn { say $$; forever } } say $$; forever`, strconv.Itoa(waiting))
	pids := numbers(t, said)
	for _, pid := range pids {
		sleeps(t, pid)
	}
	ask := func(until time.Time) int {
		these := processes(t, pids)
		return readsOf(t, func() {
			if err := new(reading).readMasks(these, Want{Signals: []unix.Signal{unix.SIGTERM}, Until: until}); err != nil {
				t.Error(err)
			}
		})
	}
	all, late := ask(time.Now().Add(time.Hour)), ask(time.Now())
	if asked := waiting / 2; late > all-asked {
		t.Errorf("%d reads when it is late, and %d when it is not: want %d fewer at least", late, all, asked)
	}
}

// A process that ends under the snapshot is left out, and what it leaves shows up
// the next time.
func TestSnapshotWhileProcessesComeAndGo(t *testing.T) {
	top, said := family(t, 2, `
		my $n = 0;
		spawn { say $$; forever };
		spawn { say $$; while (1) { spawn { spawn { } for 1 .. 3 } for 1 .. 5; 1 while waitpid(-1, 0) > 0 } };
		forever`)
	for range 30 {
		seen := readBelow(t, top)
		place := make(map[int]int)
		for i, s := range seen {
			if _, twice := place[s.PID]; twice {
				t.Fatalf("%d stands there twice", s.PID)
			}
			place[s.PID] = i
		}
		for i, s := range seen {
			if above, ok := place[s.PPID]; ok && above > i {
				t.Fatalf("%d stands before its parent %d", s.PID, s.PPID)
			}
		}
		for _, steady := range said {
			if pid, _ := strconv.Atoi(steady); seen[place[pid]].PID != pid {
				t.Fatalf("%d lives and is not there", pid)
			}
		}
	}
}

func TestAnyNameAndAnyArguments(t *testing.T) {
	for _, comm := range []string{"a) S 1 (b", "two\nlines", "))))", "\xff\x1b[2J", " ", "npm start"} {
		top, _ := family(t, 1, `open my $f, ">", "/proc/self/comm"; syswrite $f, $ARGV[0]; close $f; say "ready"; forever`, comm)
		if s := readBelow(t, top)[0]; s.Comm != comm || s.PPID != os.Getpid() || s.Args[3] != comm {
			t.Errorf("%q is %q of %d with %q", comm, s.Comm, s.PPID, s.Args)
		}
	}
	for name, args := range map[string][]string{
		"lines":     {"two\nlines", ")(", "", "\xff"},
		"many":      slices.Repeat([]string{"x"}, 10_000),
		"megabytes": slices.Repeat([]string{strings.Repeat("y", 100_000)}, 15),
	} {
		top, _ := family(t, 1, `say "ready"; forever`, args...)
		s := readBelow(t, top)[0]
		if len(s.Args) < 4 || s.Args[0] != "perl" || !strings.HasPrefix(args[0], s.Args[3]) || s.Args[3] == "" {
			t.Errorf("%s: %d arguments", name, len(s.Args))
		}
		if size := len(strings.Join(s.Args, " ")); size > os.Getpagesize() {
			t.Errorf("%s: %d bytes", name, size)
		}
	}
}

// The kernel gives a program without any argument an empty one (Linux 5.18).
func TestProgramWithoutArguments(t *testing.T) {
	r, _ := pipe(t)
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := syscall.ForkExec(cat, nil, &syscall.ProcAttr{Files: []uintptr{r.Fd(), 1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	s := readBelow(t, pid)[0]
	if s.Exe == "" || strings.Join(s.Args, "") != "" {
		t.Errorf("%q of %q", s.Args, s.Exe)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	_, _ = syscall.Wait4(pid, nil, 0, nil)
}

// need skips a test that lacks a program, and with -short one that runs any: that is for what
// needs none.
func need(t testing.TB, program string) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the program " + program)
	}
	if _, err := exec.LookPath(program); err != nil {
		skip(t, "needs the program "+program)
	}
}

// skip skips a test, or fails it where all must run, as in CI.
func skip(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("DRAINIT_TEST_ALL") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// A status is longer than a page where a user is in hundreds of groups.
func TestProcessInManyGroups(t *testing.T) {
	if os.Getuid() != 0 {
		skip(t, "needs root, to be in many groups")
	}
	top, _ := family(t, 1, `$) = "0 " . join " ", 100_000 .. 102_000; say "ready"; forever`)
	if seen := readBelow(t, top, unix.SIGTERM); len(seen) != 1 {
		t.Errorf("%d processes: %+v", len(seen), seen)
	}
}
