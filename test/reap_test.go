package test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"drainit/internal/signals"
)

// batch is how many inits the tests of many starts run at the same time.
const batch = 16

// manyStarts starts n inits, a batch at a time, and hands over each.
func manyStarts(t *testing.T, n int, launchOne func(i int) *Init, check func(i int, p *Init)) {
	t.Helper()
	for first := 0; first < n; first += batch {
		var running []*Init
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
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		manyStarts(t, 256, func(status int) *Init {
			return launch(t, Launch{NoPID1: noPID1, Args: []string{"sh", "-c", "exit " + strconv.Itoa(status)}})
		}, func(status int, p *Init) {
			p.wantExit(status)
			if p.err() != "" {
				t.Errorf("a worker that ended by itself and left nothing: %s", p.err())
			}
		})
	})
}

func TestWorkerThatExitsAtOnceIsNeverMissed(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		manyStarts(t, 300, func(i int) *Init {
			return launch(t, Launch{NoPID1: noPID1, Args: []string{[]string{"true", "false"}[i%2]}})
		}, func(i int, p *Init) { p.wantExit(i % 2) })
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
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		fatals := fatal()
		manyStarts(t, len(fatals), func(i int) *Init {
			return launch(t, Launch{NoPID1: noPID1, Dir: t.TempDir(), Args: killItself(fatals[i])})
		}, func(i int, p *Init) {
			p.wantExit(128 + int(fatals[i]))
			p.wantLogged(`sh\[\d+\] was killed by `+regexp.QuoteMeta(signals.Name(fatals[i]))+`, which drainit did not send`, 1)
			p.wantLogged(`^.+$`, 1)
		})
	})
}

// killItself is a worker that sends itself a signal. Perl ignores FPE.
func killItself(sig syscall.Signal) []string {
	return []string{"sh", "-c", "ulimit -c $(ulimit -H -c); kill -$0 $$; exit 99", strconv.Itoa(int(sig))}
}

func TestKillByAnOutsiderGives137AndOneLine(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: []string{workerBin, "listen"}})
		if err := syscall.Kill(p.workerPid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		p.wantExit(137)
		p.wantLogged(`SIGKILL.*out of memory`, 1)
		p.wantLogged(`^.+$`, 1)
	})
}

// workerPid is the pid, in the test's namespace, of a `worker listen` that is
// the worker; it is ready.
func (p *Init) workerPid() int {
	p.t.Helper()
	inside, err := strconv.Atoi(p.waitOut(`ready (\d+)$`)[1])
	if err != nil {
		p.t.Fatal(err)
	}
	return p.hostPid(inside)
}

func TestDeathByASignalThatWasPassedOnIsNoKillFromOutside(t *testing.T) {
	need(t, "perl")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGQUIT} {
			p := launch(t, Launch{NoPID1: noPID1, Args: script(`say "ready"; forever`)})
			p.waitOut(`^ready`)
			p.signal(sig)
			p.wantExit(128 + int(sig))
			p.wantLogged(`did not send`, 0)
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
	need(t, "perl")
	bothModes(t, func(t *testing.T, noPID1 bool) {
		batches, each := 20, 1000
		if noPID1 {
			batches = 5
		}
		p := launch(t, Launch{NoPID1: noPID1, Args: script(orphanBatches, strconv.Itoa(batches), strconv.Itoa(each))})
		p.waitOut(`^batch 1$`)
		files := openFiles(t, p.Pid())
		for n := 1; n <= batches; n++ {
			p.waitOut(fmt.Sprintf(`^batch %d$`, n))
		}
		p.waitOut(`^ready`)
		waitUntil(t, "nothing but the worker is left", func() bool { return len(childrenOf(p.Pid())) == 1 })
		if peak := statusField(t, p.Pid(), "VmHWM"); peak > mostMemory() {
			t.Errorf("drainit grew to %d kB", peak)
		}
		if now := openFiles(t, p.Pid()); now > files {
			t.Errorf("drainit has %d descriptors, had %d", now, files)
		}
		p.signal(syscall.SIGTERM)
		p.wantExit(0)
	})
}

// SIGCHLD is no message: however many children die meanwhile, it comes once.
func TestChildrenThatDieWhileDrainitIsStoppedAreAllReaped(t *testing.T) {
	need(t, "perl")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		r, w := pipe(t)
		p := launch(t, Launch{NoPID1: noPID1, Files: []*os.File{r}, Args: script(`
			waitpid spawn { for (1 .. 50) { spawn { hold 3 } } }, 0;
			say "ready"; catch "TERM"; await "TERM"`)})
		p.waitOut(`^ready`)
		waitUntil(t, "50 orphans have come", func() bool { return len(childrenOf(p.Pid())) == 51 })
		p.signal(syscall.SIGSTOP)
		waitUntil(t, "drainit is stopped", func() bool { return stateOf(p.Pid()) == 'T' })
		w.Close()
		waitUntil(t, "50 children are dead", func() bool { return zombiesOf(p.Pid()) == 50 })
		p.signal(syscall.SIGCONT)
		waitUntil(t, "all have been waited for", func() bool { return len(childrenOf(p.Pid())) == 1 })
		p.signal(syscall.SIGTERM)
		p.wantExit(0)
	})
}

// orphanOf3 leaves one orphan, which exits with 3 when descriptor 3 ends.
const orphanOf3 = `waitpid spawn { spawn { say "orphan $$"; hold 3; POSIX::_exit(3) } }, 0; say "ready"; hold 0`

func TestOrphansAreAdoptedSilently(t *testing.T) {
	for flag, lines := range map[string]int{"-s": 0, "-w": 1} {
		t.Run(flag, func(t *testing.T) {
			waitingModes(t, func(t *testing.T, noPID1 bool) { oneOrphan(t, noPID1, flag, lines) })
		})
	}
}

func oneOrphan(t *testing.T, noPID1 bool, flag string, lines int) {
	need(t, "perl")
	hold, release := pipe(t)
	stdin, end := pipe(t)
	p := launch(t, Launch{NoPID1: noPID1, Stdin: stdin, Files: []*os.File{hold}, Args: line([]string{flag}, script(orphanOf3)...)})
	p.waitOut(`^ready`)
	pid := p.waitOut(`^orphan (\d+)$`)[1]
	waitUntil(t, "drainit has adopted the orphan", func() bool { return len(childrenOf(p.Pid())) == 2 })
	release.Close()
	waitUntil(t, "the orphan has been waited for", func() bool { return len(childrenOf(p.Pid())) == 1 })
	end.Close()
	p.wantExit(0)
	p.wantLogged(`"warn".*reaped orphan `+pid+`, exit status 3`, lines)
	p.wantLogged(`^.+$`, lines)
}
