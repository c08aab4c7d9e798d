package tree

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"drainit/test/harness"
)

// tracing is a strace of drainit from outside: which files it opens.
type tracing struct {
	t    *testing.T
	file string
}

// trace begins to trace a running init, all of its threads.
func trace(t *testing.T, p *harness.Init) tracing {
	t.Helper()
	tr := tracing{t, filepath.Join(t.TempDir(), "trace")}
	cmd := exec.Command("strace", "-f", "-e", "trace=openat,open", "-e", "signal=none", "-o", tr.file, "-p", strconv.Itoa(p.Pid()))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	harness.WaitUntil(t, "every thread is traced", func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", p.Pid()))
		return err == nil && !slices.ContainsFunc(threads, func(thread string) bool {
			b, err := os.ReadFile(thread)
			return err == nil && strings.Contains(string(b), "TracerPid:\t0\n")
		})
	})
	return tr
}

var opened = regexp.MustCompile(`open(?:at)?\((?:AT_FDCWD, )?"([^"]*)"`)

// opens are the files that drainit has opened so far.
func (tr tracing) opens() (files []string) {
	tr.t.Helper()
	b, err := os.ReadFile(tr.file)
	if err != nil {
		tr.t.Fatal(err)
	}
	for _, m := range opened.FindAllStringSubmatch(string(b), -1) {
		files = append(files, m[1])
	}
	return files
}

// inspection is when drainit looks whether its worker passes signals on.
const inspection = 10 * time.Second

// While the worker runs drainit does not read /proc: a signal costs a look at the worker
// that handles it, and what it has become is looked at once.
func TestRunningCostsNoLookAtAllProcesses(t *testing.T) {
	t.Parallel()
	harness.Need(t, "strace")
	launched := time.Now()
	p := harness.Run(t, harness.Launch{Args: []string{"--", harness.WorkerBin, "listen", "-catch", "HUP,TERM"}})
	inside := p.WaitOut(`^ready (\d+)`)[1]
	p.WaitTitle("drainit:run") // what the worker need not wait for is behind drainit
	tr := trace(t, p)
	const signals, opensEach = 3, 2
	for range signals {
		before := strings.Count(p.Stdout.Text(), "got SIGHUP")
		p.Signal(syscall.SIGHUP)
		harness.WaitUntil(t, "HUP for the worker", func() bool { return strings.Count(p.Stdout.Text(), "got SIGHUP") > before })
	}
	files := tr.opens()
	if inTime := time.Since(launched) < inspection; inTime && (len(files) == 0 || len(files) > signals*opensEach) { // later it has looked at more
		t.Errorf("%d files opened for %d signals: %q", len(files), signals, files)
	}
	harness.WaitUntil(t, "the worker's program is looked at", func() bool {
		return slices.ContainsFunc(tr.opens(), func(file string) bool { return strings.HasSuffix(file, "/cmdline") })
	})
	time.Sleep(time.Second)           // what is tested: nothing more happens
	for _, file := range tr.opens() { // of a thread neither the stat nor the program is read
		ofThread := strings.HasSuffix(file, "/status") || strings.HasSuffix(file, "/syscall")
		if !strings.HasPrefix(file, "/proc/"+inside+"/") && !ofThread {
			t.Errorf("opened %s", file)
		}
	}
	p.Signal(syscall.SIGTERM)
	p.WantExit(0)
}

func TestIdleShellIsLookedAtOnce(t *testing.T) {
	t.Parallel()
	harness.Need(t, "strace", "dash")
	p := harness.Run(t, harness.Launch{Args: []string{"--", "dash", "-c", `"$0" listen; exit $?`, harness.WorkerBin}})
	p.WaitOut(`^ready`)
	tr := trace(t, p)
	if files := tr.opens(); len(files) > 0 {
		t.Errorf("opened %q", files)
	}
	p.WaitErr(`dash\[\d+\] does not forward signals`)
	time.Sleep(2 * time.Second) // what is tested: nothing happens
	looks := 0
	for _, file := range tr.opens() {
		if file == "/proc" {
			looks++
		}
	}
	if looks != 2 { // the second shows whether the shell has started another meanwhile
		t.Errorf("%d lists of all processes, want 2: %q", looks, tr.opens())
	}
	p.Signal(syscall.SIGTERM)
	p.WantExit(0)
}

// unreadable is a copy of the test's worker that others may run and not read:
// who runs it may signal it, but /proc hides it from him.
func unreadable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(harness.WorkerBin), "unreadable-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "hidden")
	b, err := os.ReadFile(harness.WorkerBin)
	if err == nil {
		err = os.WriteFile(path, b, 0o711)
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCascadeUnderHidepidAsFarAsItSees(t *testing.T) {
	t.Parallel()
	p := harness.Hiding(t, []string{"-v", harness.LongGrace}, "sh", "-c", `sh -c '"$0" listen -drain 300ms -exit 6; exit $?' "$0"; exit $?`, harness.WorkerBin)
	p.WaitOut(`^ready`)
	p.Signal(syscall.SIGTERM)
	p.WantExit(6)
	p.WantCount("got SIGTERM", 1)
	p.WantLogged(`sent SIGTERM to \w+\[\d+\]: `, 3)
	p.WantNothingLeft()
}

// What was there before the stop waits for a worker that is not to be seen.
func TestHiddenWorkerIsSignalledOnceAndWaitedFor(t *testing.T) {
	t.Parallel()
	harness.Need(t, "sh")
	p := harness.Hiding(t, []string{harness.LongGrace}, "sh", "-c", `("$0" listen -name "daemon " &); exec "$1" listen -drain 1500ms -exit 6`, harness.WorkerBin, unreadable(t))
	p.WaitOut(`^ready`)
	p.WaitOut(`^daemon ready`)
	p.Signal(syscall.SIGTERM)
	p.WantExit(6)
	p.WantCount("got SIGTERM", 1)
	p.WantCount("daemon got SIGTERM", 1)
	if out := p.Out(); strings.Index(out, "\ndrained") > strings.Index(out, "daemon got") {
		t.Errorf("the daemon was signalled before the worker had gone:\n%s", out)
	}
	p.WantNothingLeft()
}

// No signal reaches a process that drainit does not see.
func TestHiddenLeftoverEndsWithTheGrace(t *testing.T) {
	t.Parallel()
	p := harness.Hiding(t, []string{"--grace", "1s"}, "sh", "-c", `"$0" listen; exit $?`, unreadable(t))
	p.WaitOut(`^ready`)
	began := time.Now()
	p.Signal(syscall.SIGTERM)
	p.WantExit(143)
	harness.WantTookAtLeast(t, began, time.Second)
	p.WantNothingLeft()
}

// Without /proc there is no process to judge: when the worker has gone the others are
// signalled, all at once.
func TestWithoutProcAllBehindTwoShellsAreSignalledOnce(t *testing.T) {
	harness.Usual(t)
	t.Parallel()
	harness.Need(t, "dash")
	p := harness.Run(t, harness.Launch{Setup: harness.Setup{Proc: "none"}, Args: []string{harness.LongGrace, "--", "dash", "-c",
		`dash -c '"$0" listen -drain 1500ms; exit $?' "$0"; exit $?`, harness.WorkerBin}})
	p.WaitOut(`^ready`)
	p.Signal(syscall.SIGTERM)
	p.WantExit(143)
	p.WantCount("got SIGTERM", 1)
	p.WantCount("drained", 1)
	p.WantNothingLeft()
}

// What an engine starts in a running container has no parent there.
func TestProcessOfAnExecIntoTheContainerIsNoneOfOurs(t *testing.T) {
	t.Parallel()
	harness.Need(t, "nsenter", "dash", "perl")
	harness.NeedRoot(t)
	p := harness.Run(t, harness.Launch{Args: []string{"-v", harness.LongGrace, "--", "dash", "-c", `"$0" listen -drain 1500ms -exit 6; exit $?`, harness.WorkerBin}})
	p.WaitOut(`^ready`)
	guest := exec.Command("nsenter", append([]string{"-t", strconv.Itoa(p.Pid()), "-p", "-m", "--"},
		harness.Script(`catch "TERM"; spawn { $name = "child"; catch "TERM"; say "ready"; forever }; say getppid; forever`)...)...)
	out, err := guest.StdoutPipe()
	if err == nil {
		err = guest.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = guest.Process.Kill() })
	var said []string
	lines := bufio.NewScanner(out)
	for len(said) < 2 && lines.Scan() {
		said = append(said, lines.Text())
	}
	if slices.Sort(said); !slices.Equal(said, []string{"0", "ready"}) {
		t.Fatalf("the guest says %q", said)
	}
	p.Signal(syscall.SIGTERM)
	p.WantExit(6) // long before the guest ends by itself
	for lines.Scan() {
		t.Errorf("the guest says %q", lines.Text())
	}
	_ = guest.Wait() // the kernel has ended it with PID 1
	p.WantLogged(`sent SIGTERM to \w+\[\d+\]: `, 2)
}

// crowded is a tree of 2 + groups + groups * each processes. The innermost catch
// TERM and say so each time; a while after the first they end. No process else catches it.
const crowded = `
my ($groups, $each) = @ARGV;
pipe my $in, my $out;
my $signalled = POSIX::SigAction->new(sub { say "$$ got TERM"; alarm 1 });
for (1 .. $groups) { spawn {
	for (1 .. $each) { spawn { POSIX::sigaction(POSIX::SIGTERM(), $signalled); syswrite $out, "."; POSIX::pause() while 1 } }
	POSIX::pause() while 1;
} }
sysread $in, my $byte, 1 for 1 .. $groups * $each;
say "ready"; POSIX::pause() while 1`

func TestTreeOfManyIsSignalledEachOnce(t *testing.T) {
	t.Parallel()
	harness.Need(t, "perl", "dash")
	groups, each := harness.Of(40, 5), harness.Of(49, 9) // 2000 or 50
	p := harness.Run(t, harness.Launch{Args: append([]string{harness.LongGrace, "--", "dash", "-c", `"$@"; exit $?`, "dash"},
		harness.Script(crowded, strconv.Itoa(groups), strconv.Itoa(each))...)})
	p.WaitOut(`^ready`)
	p.Signal(syscall.SIGTERM)
	p.WantExit(143)
	signalled := make(map[string]int)
	for _, line := range harness.Gots(p.Out()) {
		signalled[line]++
	}
	for line, n := range signalled {
		if n > 1 {
			t.Errorf("%s came %d times", line, n)
		}
	}
	if len(signalled) != groups*each {
		t.Errorf("%d were signalled, want %d", len(signalled), groups*each)
	}
	p.WantNothingLeft()
}
