package proc

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// family starts a perl script whose processes print a line each when they are ready.
func family(t testing.TB, lines int, script string, args ...string) (top int, said []string) {
	t.Helper()
	need(t, "perl")
	const words = `use strict; use POSIX ();
		sub say { syswrite STDOUT, "@_\n" } sub forever { select undef, undef, undef, 1000 while 1 }
		sub spawn(&) {
			my $pid = fork;
			die "cannot fork: $!" unless defined $pid;
			return $pid if $pid;
			$_[0]->();
			POSIX::_exit(0)
		}
		sub rename_to { open my $f, ">", "/proc/self/comm"; syswrite $f, $_[0]; close $f }
		sub block { POSIX::sigprocmask(POSIX::SIG_BLOCK(), POSIX::SigSet->new(@_)) }
		$SIG{$_} = "DEFAULT" for qw(HUP INT QUIT TERM USR1);
	`
	return start(t, lines, exec.Command("perl", append([]string{"-e", words + script}, args...)...))
}

// start starts a command in a process group of its own, which is killed at the end, and waits for so
// many lines of it.
func start(t testing.TB, lines int, cmd *exec.Cmd) (pid int, said []string) {
	t.Helper()
	r, w := pipe(t)
	if cmd.SysProcAttr = (&syscall.SysProcAttr{Setpgid: true}); cmd.Stdout == nil {
		cmd.Stdout = w
	}
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	w.Close() // so that the end of all that may write is the end of what can be read
	for in := bufio.NewReader(r); len(said) < lines; {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("%v after %q", err, said)
		}
		said = append(said, strings.TrimSuffix(line, "\n"))
	}
	return cmd.Process.Pid, said
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// take takes a snapshot of what is below the test's own process.
func take(t testing.TB) *Snapshot { return takeSince(t, nil) }

func takeSince(t testing.TB, since *Snapshot) *Snapshot {
	t.Helper()
	return answer(t, func() (*Snapshot, error) { return new(Reader).Tree(os.Getpid(), since, time.Minute) })
}

// answer is that of a read. It is read again where there was none: a process that forks on a busy
// machine may hold its lock for long.
func answer[T any](t testing.TB, read func() (T, error)) T {
	t.Helper()
	for {
		got, err := read()
		if err == nil {
			return got
		}
		if err != ErrNoAnswer {
			t.Fatal(err)
		}
	}
}

// readBelow takes a snapshot and returns what is at or below top.
func readBelow(t testing.TB, top int) []*Process {
	t.Helper()
	all := take(t)
	return append([]*Process{all.find(top)}, all.Descendants(top)...)
}

// Each process below the root is read in full, and one elsewhere is not.
func TestWhatATreeShows(t *testing.T) {
	top, said := family(t, 3, `spawn { spawn { say $$; forever }; say $$; forever }; say $$; forever`, "",
		"an argument")
	perl, err := os.Readlink(procPath(top, "exe"))
	must(t, err)
	for _, s := range readBelow(t, top) {
		if s.Exe != path.Base(perl) || len(s.Args) != 5 || s.Args[0] != "perl" || s.Args[3] != "" ||
			s.Args[4] != "an argument" {
			t.Errorf("%q of %q", s.Args, s.Exe)
		}
		if s.PGID != top || s.Start == 0 || s.State != 'S' && s.State != 'R' || s.Comm != "perl" {
			t.Errorf("%+v", s)
		}
	}
	root, _ := strconv.Atoi(said[0])
	all := answer(t, func() (*Snapshot, error) { return new(Reader).Tree(root, nil, time.Minute) })
	if p, ok := all.Process(os.Getpid()); !ok || p.Exe != "" {
		t.Errorf("the test itself: %v, runs %q", ok, p.Exe)
	}
	alone := answer(t, func() (Process, error) { return new(Reader).Process(top) })
	if alone.Exe != path.Base(perl) || !alone.Call.Sleeps && alone.State == 'S' {
		t.Errorf("alone: %+v", alone)
	}
}

// What an earlier snapshot has of a program need not be read again, unless the name of a process that
// has run has changed. Another process may have the pid by now.
func TestWhatAnEarlierSnapshotTells(t *testing.T) {
	top, _ := family(t, 1, `say "ready"; forever`)
	sleeps(t, top)
	before := take(t)
	p := before.find(top)
	p.Exe = "kept"
	if now, _ := takeSince(t, before).Process(top); now.Exe != "kept" {
		t.Errorf("it runs %q: read again", now.Exe)
	}
	p.Comm, p.Evidence = "another", nil
	if now, _ := takeSince(t, before).Process(top); now.Exe == "kept" {
		t.Error("its name has changed, and its program was not read")
	}
	recycled := take(t)
	recycled.find(top).Start++
	if now, _ := takeSince(t, recycled).Process(top); now.Untouched {
		t.Error("it is called untouched by the evidence of another")
	}
}

// A fork runs the program of its parent, which is not read a second time, until it executes another or
// sets a name.
func TestProgramOfAFork(t *testing.T) {
	top, said := family(t, 3, `
		spawn { say "fork $$"; forever };
		spawn { exec "perl", "-e", '$| = 1; print "exec $$\n"; select undef, undef, undef, 1000 while 1' };
		spawn { rename_to("other"); say "renamed $$"; forever };
		forever`)
	all := take(t)
	parent, _ := all.Process(top)
	for _, line := range said {
		var how string
		var pid int
		fmt.Sscan(line, &how, &pid)
		p, _ := all.Process(pid)
		shared := &p.Args[0] == &parent.Args[0]
		if p.Exe != parent.Exe || slices.Equal(p.Args, parent.Args) != (how != "exec") ||
			shared != (how == "fork") {
			t.Errorf("%s: %q of %q, not read: %v", how, p.Args, p.Exe, shared)
		}
	}
}

// The nearest are read first, and the first in any case.
func TestATreeIsReadForABoundedTime(t *testing.T) {
	top, _ := family(t, 1, `spawn { spawn { forever } for 1 .. 300; say "ready"; forever }; forever`)
	all := answer(t, func() (*Snapshot, error) { return new(Reader).Tree(top, nil, 0) })
	read := 0
	for _, p := range all.Descendants(top) {
		if p.Exe != "" {
			read++
		}
	}
	if first := all.Descendants(top)[0]; first.Exe == "" || read > 2 {
		t.Errorf("%d of 301 processes were read in no time, the first: %v", read, first.Exe != "")
	}
}

// blocks has a process of a family block TERM, USR1 and TSTP, and waits has it wait for them by
// signalfd(2).
const blocks = `block(POSIX::SIGTERM(), POSIX::SIGTSTP(), POSIX::SIGUSR1()); `

var waits = `my ($fd, $mask); sub waits { ` + blocks + `
	$mask |= 1 << ($_ - 1) for POSIX::SIGTERM(), POSIX::SIGTSTP(), POSIX::SIGUSR1();
	$fd = syscall(` + strconv.Itoa(unix.SYS_SIGNALFD4) + `, -1, my $set = pack("Q", $mask), 8, 0) } `

// A process that blocks a signal handles it only if it waits for it.
func TestWhichSignalsAProcessHandles(t *testing.T) {
	for name, tt := range map[string]struct {
		does    string
		handled string
		ignores bool // HUP
	}{
		"nothing":            {`1`, "", false},
		"handlers":           {`$SIG{TERM} = $SIG{INT} = sub { }`, "INT TERM", false},
		"of real time":       {`$SIG{NUM40} = sub { }`, "NUM40", false},
		"ignored":            {`$SIG{TERM} = $SIG{HUP} = "IGNORE"`, "", true},
		"read from signalfd": {waits + `waits`, "TERM TSTP", false},
		"blocked":            {blocks, "", false},
		"blocked and ignored": {
			`$SIG{TERM} = "IGNORE"; block(POSIX::SIGTERM())`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			top, _ := family(t, 1, tt.does+`; say "ready"; forever`)
			s := readBelow(t, top)[0]
			var handled []string
			for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGTSTP, 40} {
				if s.Handles(sig) {
					handled = append(handled,
						strings.TrimPrefix(cmp.Or(unix.SignalName(sig), "NUM40"), "SIG"))
				}
			}
			if got := strings.Join(handled, " "); got != tt.handled || s.Ignores(unix.SIGHUP) != tt.ignores {
				t.Errorf("handles %q, ignores HUP %v; want %q, %v", got, s.Ignores(unix.SIGHUP),
					tt.handled, tt.ignores)
			}
		})
	}
}

// A process that ends under the snapshot is left out, and none that lives is.
func TestSnapshotWhileProcessesComeAndGo(t *testing.T) {
	top, said := family(t, 2, `
		spawn { say $$; forever };
		spawn { say $$; while (1) { spawn { spawn { } for 1 .. 3 } for 1 .. 5; 1 while waitpid(-1, 0) > 0 } };
		forever`)
	for range 30 {
		pids := pidsOf(readBelow(t, top))
		for _, steady := range said {
			if pid, _ := strconv.Atoi(steady); !slices.Contains(pids, pid) {
				t.Fatalf("%s lives and is not among %v", steady, pids)
			}
		}
		if slices.Sort(pids); len(slices.Compact(slices.Clone(pids))) != len(pids) {
			t.Fatalf("one stands twice in %v", pids)
		}
	}
}

func TestAnyNameAndAnyArguments(t *testing.T) {
	const comm = "\xff) S 1 (\nb"
	top, _ := family(
		t, 1, `rename_to($ARGV[0]); say "ready"; forever`,
		comm)
	if s := readBelow(t, top)[0]; s.Comm != comm || s.PPID != os.Getpid() || s.Args[3] != comm {
		t.Errorf("%q is %q of %d with %q", comm, s.Comm, s.PPID, s.Args)
	}
	top, _ = family(t, 1, `say "ready"; forever`,
		slices.Repeat([]string{strings.Repeat("y", 100_000)}, 15)...)
	s := readBelow(t, top)[0]
	if size := len(strings.Join(s.Args, " ")); size > page || len(s.Args) != 4 ||
		!strings.HasPrefix(s.Args[3], "yy") {
		t.Errorf("of megabytes: %d bytes in %d arguments", size, len(s.Args))
	}
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
	if os.Getenv("DRAINIT_TEST_ALL") != "" {
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
	if seen := readBelow(t, top); len(seen) != 1 {
		t.Errorf("%d processes: %+v", len(seen), seen)
	}
}
