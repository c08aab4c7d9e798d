package tree

import (
	"fmt"
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

// inspection is when drainit looks whether its worker passes signals on.
const inspection = 10 * time.Second

var opened = regexp.MustCompile(`open(?:at)?\((?:AT_FDCWD, )?"([^"]*)"`)

// While the worker runs drainit does not read /proc: a signal costs a look at the worker
// that handles it, and what it has become is looked at once.
func TestRunningCostsNoLookAtAllProcesses(t *testing.T) {
	t.Parallel()
	harness.Need(t, "strace")
	launched, trace := time.Now(), filepath.Join(t.TempDir(), "trace")
	p := harness.Run(t, harness.Launch{Trace: []string{"-f", "-b", "execve", "-e", "trace=openat,open", "-e", "signal=none", "-o", trace},
		Args: []string{"--", harness.WorkerBin, "listen", "-catch", "HUP,TERM"}})
	inside := p.WaitOut(`^ready (\d+)`)[1]
	p.WaitTitle("drainit:run") // what the worker need not wait for has been done
	atStart := len(opened.FindAllString(harness.TextOf(t, trace), -1))
	opens := func() (files []string) {
		for _, m := range opened.FindAllStringSubmatch(harness.TextOf(t, trace), -1)[atStart:] {
			files = append(files, m[1])
		}
		return files
	}
	const signals, opensEach = 3, 2
	for n := range signals {
		p.Signal(syscall.SIGHUP)
		harness.WaitUntil(t, "HUP for the worker", func() bool { return strings.Count(p.Stdout.Text(), "got SIGHUP") > n })
	}
	files := opens()
	if inTime := time.Since(launched) < inspection; inTime && (len(files) == 0 || len(files) > signals*opensEach) { // later it has looked at more
		t.Errorf("%d files opened for %d signals: %q", len(files), signals, files)
	}
	harness.WaitUntil(t, "the worker's program is looked at", func() bool {
		return slices.ContainsFunc(opens(), func(file string) bool { return strings.HasSuffix(file, "/cmdline") })
	})
	time.Sleep(time.Second)        // what is tested: nothing more happens
	for _, file := range opens() { // of a thread neither the stat nor the program is read
		ofThread := strings.HasSuffix(file, "/status") || strings.HasSuffix(file, "/syscall")
		if !strings.HasPrefix(file, "/proc/"+inside+"/") && !ofThread {
			t.Errorf("opened %s", file)
		}
	}
	p.Signal(syscall.SIGTERM)
	p.WantExit(0)
}

// What was there before the stop waits for a worker that is not to be seen.
func TestHiddenWorkerIsSignalledOnceAndWaitedFor(t *testing.T) {
	t.Parallel()
	harness.Need(t, "sh")
	// Another user may run it, and not read it: /proc hides it from whoever does so.
	hidden := harness.WriteProgram(t, filepath.Dir(harness.WorkerBin), "hidden", 0o711, harness.TextOf(t, harness.WorkerBin))
	p := harness.Hiding(t, []string{harness.LongGrace}, "sh", "-c", `("$0" listen -name "daemon " &); exec "$1" listen -drain 1500ms -exit 6`, harness.WorkerBin, hidden)
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
	gots := slices.Sorted(slices.Values(harness.Gots(p.Out())))
	if once := slices.Compact(slices.Clone(gots)); len(once) != groups*each || len(gots) != len(once) {
		t.Errorf("%d of %d were signalled, %d times:\n%s", len(once), groups*each, len(gots), strings.Join(gots, "\n"))
	}
	p.WantNothingLeft()
}

// Many jobs in the group of a worker that dies of the signal get it once, and so does one in
// a group of its own, though one of them is stopped.
func TestEachJobOfACrowdIsSignalledOnce(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		jobs, ready, want := "", "a b", []string{"b got TERM"}
		for i := range 40 {
			name := fmt.Sprintf("job%d", i)
			jobs, ready, want = jobs+name+"[TERM=0] ", ready+" "+name, append(want, name+" got TERM")
		}
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{harness.LongGrace}}, "a("+jobs+"b[TERM=0,pgrp])", ready)
		harness.Freeze(t, p.PidOf("job7"))
		p.Signal(syscall.SIGTERM)
		p.Wait()
		p.WantGots(want...)
		p.WantNothingLeft()
	})
}
