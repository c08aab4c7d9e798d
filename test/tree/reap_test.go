package tree

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"drainit/internal/signals"
	"drainit/test/harness"
)

// batch is how many inits the tests of many starts run at the same time.
const batch = 16

// manyStarts starts n inits, a batch at a time, and hands over each.
func manyStarts(t *testing.T, n int, launchOne func(i int) *harness.Init, check func(i int, p *harness.Init)) {
	t.Helper()
	for first := 0; first < n; first += batch {
		var running []*harness.Init
		for i := first; i < min(n, first+batch); i++ {
			running = append(running, launchOne(i))
		}
		for i, p := range running {
			check(first+i, p)
		}
	}
}

// These workers also exit about as early as they can: none may be missed.
func TestExitStatusIsTheWorkersExactly(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		n := harness.Of(256, 16)
		statusOf := func(i int) int { return i * 255 / (n - 1) }
		manyStarts(t, n, func(i int) *harness.Init {
			return harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"sh", "-c", "exit " + strconv.Itoa(statusOf(i))}})
		}, func(i int, p *harness.Init) {
			p.WantExit(statusOf(i))
			if p.Err() != "" {
				t.Errorf("a worker that ended by itself and left nothing: %s", p.Err())
			}
		})
	})
}

func TestWorkerThatExitsAtOnceIsNeverMissed(t *testing.T) {
	harness.Usual(t)
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		manyStarts(t, harness.Of(300, 16), func(i int) *harness.Init {
			return harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{[]string{"true", "false"}[i%2]}})
		}, func(i int, p *harness.Init) { p.WantExit(i % 2) })
	})
}

// fatal are the signals whose default action ends a process (signal(7)).
func fatal() []syscall.Signal {
	harmless := []syscall.Signal{syscall.SIGCHLD, syscall.SIGCONT, syscall.SIGSTOP, syscall.SIGTSTP,
		syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGURG, syscall.SIGWINCH}
	var all []syscall.Signal
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		if !slices.Contains(harmless, sig) {
			all = append(all, sig)
		}
	}
	return all
}

// For ten of these the status that wait4 gives has one more bit: a core was written.
func TestWorkerKilledBySignalNGives128PlusN(t *testing.T) {
	harness.Usual(t)
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		fatals := fatal()
		if n := harness.Of(len(fatals), 0); n == 0 {
			fatals = []syscall.Signal{syscall.SIGHUP, syscall.SIGSEGV, syscall.SIGKILL, syscall.SIGTERM, 34, 64}
		}
		manyStarts(t, len(fatals), func(i int) *harness.Init {
			return harness.Run(t, harness.Launch{NoPID1: noPID1, Dir: t.TempDir(), Args: killItself(fatals[i])})
		}, func(i int, p *harness.Init) {
			p.WantExit(128 + int(fatals[i]))
			p.WantLogged(`sh\[\d+\] was killed by `+regexp.QuoteMeta(signals.Name(fatals[i]))+`, which drainit did not send`, 1)
			p.WantLogged(`^.+$`, 1)
		})
	})
}

// killItself is a worker that sends itself a signal. Perl ignores FPE.
func killItself(sig syscall.Signal) []string {
	return []string{"sh", "-c", "ulimit -c $(ulimit -H -c); kill -$0 $$; exit 99", strconv.Itoa(int(sig))}
}

func TestKillByAnOutsiderGives137AndOneLine(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{harness.WorkerBin, "listen"}})
		harness.Kill(t, p.WorkerPid(), syscall.SIGKILL)
		p.WantExit(137)
		p.WantLogged(`SIGKILL.*out of memory`, 1)
		p.WantLogged(`^.+$`, 1)
	})
}

func TestDeathByASignalThatWasPassedOnIsNoKillFromOutside(t *testing.T) {
	harness.Need(t, "perl")
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGQUIT} {
			p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Script(`say "ready"; forever`)})
			p.WaitOut(`^ready`)
			p.Signal(sig)
			p.WantExit(128 + int(sig))
			p.WantLogged(`did not send`, 0)
		}
	})
}

// Each intermediate parent leaves what it started as dead or dying children of
// drainit, all at once.
const orphanBatches = `
my ($batches, $each) = @ARGV;
for my $n (1 .. $batches) {
	my $pid = spawn { spawn { } for 1 .. $each };
	waitpid $pid, 0;
	say "batch $n";
}
catch "TERM"; say "ready"; await "TERM"`

func TestManyOrphansCostNoMemoryAndLeaveNoZombie(t *testing.T) {
	harness.Need(t, "perl")
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		batches, each := harness.Of(20, 3), harness.Of(1000, 100)
		if noPID1 {
			batches = harness.Of(5, 3)
		}
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Script(orphanBatches, strconv.Itoa(batches), strconv.Itoa(each))})
		p.WaitOut(`^batch 1$`)
		files := harness.OpenFiles(t, p.Pid())
		for n := 1; n <= batches; n++ {
			p.WaitOut(fmt.Sprintf(`^batch %d$`, n))
		}
		p.WaitOut(`^ready`)
		harness.WaitUntil(t, "nothing but the worker is left", func() bool { return len(harness.ChildPids(p.Pid())) == 1 })
		if peak := harness.StatusField(t, p.Pid(), "VmHWM"); peak > harness.MostMemory() {
			t.Errorf("drainit grew to %d kB", peak)
		}
		if now := harness.OpenFiles(t, p.Pid()); now > files {
			t.Errorf("drainit has %d descriptors, had %d", now, files)
		}
		p.Signal(syscall.SIGTERM)
		p.WantExit(0)
	})
}

// SIGCHLD is no message: however many children die meanwhile, it comes once.
func TestChildrenThatDieWhileDrainitIsStoppedAreAllReaped(t *testing.T) {
	harness.Need(t, "perl")
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		r, w := harness.Pipe(t)
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Files: []*os.File{r}, Args: harness.Script(`
			waitpid spawn { for (1 .. 50) { spawn { hold 3 } } }, 0;
			say "ready"; catch "TERM"; await "TERM"`)})
		p.WaitOut(`^ready`)
		harness.WaitUntil(t, "50 orphans have come", func() bool { return len(harness.ChildPids(p.Pid())) == 51 })
		p.Signal(syscall.SIGSTOP)
		harness.WaitUntil(t, "drainit is stopped", func() bool { return harness.StateOf(p.Pid()) == 'T' })
		w.Close()
		harness.WaitUntil(t, "50 children are dead", func() bool { return deadChildren(p.Pid()) == 50 })
		p.Signal(syscall.SIGCONT)
		harness.WaitUntil(t, "all have been waited for", func() bool { return len(harness.ChildPids(p.Pid())) == 1 })
		p.Signal(syscall.SIGTERM)
		p.WantExit(0)
	})
}

// deadChildren counts those that a process has not waited for yet.
func deadChildren(pid int) (n int) {
	for _, child := range harness.ChildPids(pid) {
		if harness.StateOf(child) == 'Z' {
			n++
		}
	}
	return n
}

// orphanOf3 leaves one orphan, which exits with 3 when descriptor 3 ends.
const orphanOf3 = `waitpid spawn { spawn { say "orphan $$"; hold 3; POSIX::_exit(3) } }, 0; say "ready"; hold 0`

func TestOrphansAreAdoptedSilently(t *testing.T) {
	for flag, lines := range map[string]int{"-s": 0, "-w": 1} {
		t.Run(flag, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) { oneOrphan(t, noPID1, flag, lines) })
		})
	}
}

func oneOrphan(t *testing.T, noPID1 bool, flag string, lines int) {
	harness.Need(t, "perl")
	hold, release := harness.Pipe(t)
	stdin, end := harness.Pipe(t)
	p := harness.Run(t, harness.Launch{NoPID1: noPID1, Stdin: stdin, Files: []*os.File{hold}, Args: harness.Line([]string{flag}, harness.Script(orphanOf3)...)})
	p.WaitOut(`^ready`)
	pid := p.WaitOut(`^orphan (\d+)$`)[1]
	harness.WaitUntil(t, "drainit has adopted the orphan", func() bool { return len(harness.ChildPids(p.Pid())) == 2 })
	release.Close()
	harness.WaitUntil(t, "the orphan has been waited for", func() bool { return len(harness.ChildPids(p.Pid())) == 1 })
	end.Close()
	p.WantExit(0)
	p.WantLogged(`"warn".*reaped orphan `+pid+`, exit status 3`, lines)
	p.WantLogged(`^.+$`, lines)
}
