package proc

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

// take takes a snapshot of what is below the test's own process.
func take(t testing.TB) *Snapshot { return takeSince(t, nil) }

func takeSince(t testing.TB, since *Snapshot) *Snapshot {
	t.Helper()
	for {
		all, err := new(Reader).Tree(os.Getpid(), since, time.Minute)
		switch {
		case err == nil:
			return all
		case err != ErrNoAnswer: // a process that forks on a busy machine may hold its lock for long
			t.Fatal(err)
		}
	}
}

// readBelow takes a snapshot and returns what is at or below top.
func readBelow(t testing.TB, top int) []*Process {
	t.Helper()
	in := map[int]bool{top: true}
	return slices.DeleteFunc(take(t).Descendants(os.Getpid()), func(s *Process) bool {
		in[s.PID] = in[s.PID] || in[s.PPID]
		return !in[s.PID]
	})
}

// numbers are the pids that a family printed.
func numbers(t testing.TB, said []string) (pids []int) {
	t.Helper()
	for _, line := range said {
		pid, err := strconv.Atoi(line)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
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

// Each process below the root is read in full, and one elsewhere is not.
func TestWhatATreeShows(t *testing.T) {
	top, said := family(t, 3, `spawn { spawn { say $$; forever }; say $$; forever }; say $$; forever`, "", "an argument")
	perl, err := exec.LookPath("perl")
	if err == nil {
		perl, err = filepath.EvalSymlinks(perl)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range readBelow(t, top) {
		if s.Exe != filepath.Base(perl) || len(s.Args) != 5 || s.Args[0] != "perl" || s.Args[3] != "" || s.Args[4] != "an argument" {
			t.Errorf("%q of %q", s.Args, s.Exe)
		}
	}
	all, err := new(Reader).Tree(numbers(t, said)[0], nil, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := all.Process(os.Getpid()); !ok || p.Exe != "" {
		t.Errorf("the test itself: %v, runs %q", ok, p.Exe)
	}
	if alone, err := new(Reader).Process(top); err != nil || alone.Exe != filepath.Base(perl) || !alone.Call.Sleeps && alone.State == 'S' {
		t.Errorf("alone: %+v, %v", alone, err)
	}
}

// What an earlier snapshot has of a program need not be read again, unless the name of a process that
// has run has changed.
func TestProgramOfAnEarlierSnapshot(t *testing.T) {
	top, _ := family(t, 1, `say "ready"; forever`)
	before := take(t)
	p := before.find(top)
	p.Exe = "kept"
	if now, _ := takeSince(t, before).Process(top); now.Exe != "kept" {
		t.Errorf("it runs %q: read again", now.Exe)
	}
	p.Comm, p.evidence = "another", nil
	if now, _ := takeSince(t, before).Process(top); now.Exe == "kept" {
		t.Error("its name has changed, and its program was not read")
	}
}

// A fork runs the program of its parent, which is not read a second time, until it executes another or
// sets a name.
func TestProgramOfAFork(t *testing.T) {
	top, said := family(t, 3, `
		spawn { say "fork $$"; forever };
		spawn { exec "perl", "-e", '$| = 1; print "exec $$\n"; select undef, undef, undef, 1000 while 1' };
		spawn { open my $f, ">", "/proc/self/comm"; syswrite $f, "other"; close $f; say "renamed $$"; forever };
		forever`)
	all := take(t)
	parent, _ := all.Process(top)
	for _, line := range said {
		how, pid, _ := strings.Cut(line, " ")
		p, _ := all.Process(numbers(t, []string{pid})[0])
		shared := &p.Args[0] == &parent.Args[0]
		if p.Exe != parent.Exe || slices.Equal(p.Args, parent.Args) != (how != "exec") || shared != (how == "fork") {
			t.Errorf("%s: %q of %q, not read: %v", how, p.Args, p.Exe, shared)
		}
	}
}

// The nearest are read first, and the first in any case.
func TestATreeIsReadForABoundedTime(t *testing.T) {
	top, said := family(t, 2, `spawn { spawn { forever } for 1 .. 300; say $$; forever }; say $$; forever`)
	all, err := new(Reader).Tree(top, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, p := range all.Descendants(top) {
		if p.Exe != "" {
			read++
		}
	}
	first, _ := all.Process(numbers(t, said)[0])
	if first.PID == top {
		first, _ = all.Process(numbers(t, said)[1])
	}
	if first.Exe == "" || read > 2 {
		t.Errorf("%d of 301 processes were read in no time, the first: %v", read, first.Exe != "")
	}
}

// blocks has a process of a family block TERM and TSTP, and waits has it wait for them by
// signalfd(2).
const blocks = `POSIX::sigprocmask(POSIX::SIG_BLOCK(), POSIX::SigSet->new(POSIX::SIGTERM(), POSIX::SIGTSTP())); `

var waits = `my $fd; sub waits { ` + blocks + `$fd = syscall(` + strconv.Itoa(unix.SYS_SIGNALFD4) +
	`, -1, my $mask = pack("Q", 1 << (POSIX::SIGTERM() - 1) | 1 << (POSIX::SIGTSTP() - 1)), 8, 0) } `

// A process that blocks a signal handles it only if it waits for it.
func TestWhichSignalsAProcessHandles(t *testing.T) {
	tests := map[string]struct {
		does    string
		handled string
		ignores bool // HUP
	}{
		"nothing":             {`1`, "", false},
		"handlers":            {`$SIG{TERM} = $SIG{INT} = sub { }`, "INT TERM", false},
		"one handler":         {`$SIG{INT} = sub { }`, "INT", false},
		"of real time":        {`$SIG{NUM40} = sub { }`, "NUM40", false},
		"ignored":             {`$SIG{TERM} = $SIG{HUP} = "IGNORE"`, "", true},
		"read from signalfd":  {waits + `waits`, "TERM TSTP", false},
		"blocked":             {blocks, "", false},
		"blocked and ignored": {`$SIG{TERM} = "IGNORE"; POSIX::sigprocmask(POSIX::SIG_BLOCK(), POSIX::SigSet->new(POSIX::SIGTERM()))`, "", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			top, _ := family(t, 1, tt.does+`; say "ready"; forever`)
			s := readBelow(t, top)[0]
			var handled []string
			for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGTSTP, 40} {
				if s.Handles(sig) {
					handled = append(handled, strings.TrimPrefix(cmp.Or(unix.SignalName(sig), "NUM40"), "SIG"))
				}
			}
			if got := strings.Join(handled, " "); got != tt.handled || s.Ignores(unix.SIGHUP) != tt.ignores {
				t.Errorf("handles %q, ignores HUP %v; want %q, %v", got, s.Ignores(unix.SIGHUP), tt.handled, tt.ignores)
			}
		})
	}
}

// A thread in sigwait has the signal for which it waits taken out of what it blocks. Where the main
// thread does not block a signal, it is the main thread that gets it.
func TestWhatThreadsWaitFor(t *testing.T) {
	for name, tt := range map[string]struct {
		main, other string
		handles     bool
	}{
		"the main thread waits":                           {"signal.sigwait(all)", "time.sleep(1000)", true},
		"another thread waits, where all block":           {"time.sleep(1000)", "signal.sigwait(all)", true},
		"another waits, and the main one does not block":  {"signal.pthread_sigmask(signal.SIG_UNBLOCK, all); time.sleep(1000)", "signal.sigwait(all)", false},
		"all block, and none waits":                       {"time.sleep(1000)", "time.sleep(1000)", false},
		"the main one blocks, and another does not block": {"time.sleep(1000)", "signal.pthread_sigmask(signal.SIG_UNBLOCK, all); time.sleep(1000)", false},
	} {
		t.Run(name, func(t *testing.T) {
			pid := python(t, `
import signal, threading, time
all = [signal.SIGTSTP, signal.SIGUSR1]
signal.pthread_sigmask(signal.SIG_BLOCK, all)
def other(): `+tt.other+`
threading.Thread(target=other, daemon=True).start()
print("ready", flush=True)
`+tt.main)
			var p Process
			for range 200 { // it may still be on its way to sleep
				sleeps(t, pid)
				if p, _ = take(t).Process(pid); p.Handles(unix.SIGTSTP) == tt.handles {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
			t.Errorf("handles TSTP: %v", !tt.handles)
		})
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
	if seen := readBelow(t, top); len(seen) != 1 {
		t.Errorf("%d processes: %+v", len(seen), seen)
	}
}

// crowd is a process with so many children that sleep.
const crowd = `for (1 .. shift) { spawn { forever } } say "ready"; forever`

func BenchmarkTree(b *testing.B) {
	for _, children := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(children), func(b *testing.B) {
			family(b, 1, crowd, strconv.Itoa(children))
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var cpu time.Duration
			var since *Snapshot
			for b.Loop() {
				before := cpuTime(b)
				s, err := new(reading).tree(os.Getpid(), since, time.Now().Add(time.Minute))
				if err != nil {
					b.Fatal(err)
				}
				since = s
				cpu += cpuTime(b) - before
			}
			b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}

// cpuTime is by a clock: what getrusage(2) tells may go by ticks of 4 ms.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Nano())
}
