package tree

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"drainit/internal/signals"
	"drainit/test/harness"
)

// manyStarts starts n inits, some at a time, and hands over each.
func manyStarts(t *testing.T, n int, launchOne func(i int) *harness.Init, check func(i int, p *harness.Init)) {
	t.Helper()
	const atATime = 16
	for first := 0; first < n; first += atATime {
		var running []*harness.Init
		for i := first; i < min(n, first+atATime); i++ {
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
			if lines := harness.JsonLines(t, p.Err()); len(lines) != min(statusOf(i), 1) { // none of status 0
				t.Errorf("a worker that ended by itself and left nothing: %s", p.Err())
			}
		})
	})
}

// For ten of these the status that wait4 gives has one more bit: a core was written.
func TestWorkerKilledBySignalNGives128PlusN(t *testing.T) {
	harness.Usual(t)
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		fatals := []syscall.Signal{syscall.SIGHUP, syscall.SIGSEGV, syscall.SIGKILL, syscall.SIGTERM, 34, 64}
		if harness.Of(1, 0) == 1 { // all whose default action ends a process (signal(7))
			harmless := []syscall.Signal{syscall.SIGCHLD, syscall.SIGCONT, syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGURG, syscall.SIGWINCH}
			fatals = nil
			for sig := syscall.Signal(1); sig <= 64; sig++ {
				if !slices.Contains(harmless, sig) {
					fatals = append(fatals, sig)
				}
			}
		}
		manyStarts(t, len(fatals), func(i int) *harness.Init {
			return harness.Run(t, harness.Launch{NoPID1: noPID1, Dir: t.TempDir(), Args: []string{"sh", "-c", "ulimit -c $(ulimit -H -c); kill -$0 $$; exit 99", strconv.Itoa(int(fatals[i]))}})
		}, func(i int, p *harness.Init) {
			p.WantExit(128 + int(fatals[i]))
			p.WantLogged(`sh\[\d+\] was killed by `+regexp.QuoteMeta(signals.Name(fatals[i]))+`, which drainit did not send`, 1)
			p.WantLogged(`^.+$`, 2) // and the end
		})
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
		harness.Freeze(t, p.Pid())
		w.Close()
		harness.WaitUntil(t, "50 children are dead", func() bool {
			living := slices.DeleteFunc(harness.ChildPids(p.Pid()), func(child int) bool { return harness.StateOf(child) == 'Z' })
			return len(living) == 1
		})
		p.Signal(syscall.SIGCONT)
		harness.WaitUntil(t, "all have been waited for", func() bool { return len(harness.ChildPids(p.Pid())) == 1 })
		p.Signal(syscall.SIGTERM)
		p.WantExit(0)
	})
}
