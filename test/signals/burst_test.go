package signals

import (
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
	"drainit/test/harness"
)

// A burst is what a container's terminal sends when a window is resized, and
// what load tests send. Signals of one kind may become one, as in the kernel,
// but a TERM among them is not lost and not doubled.
func TestTermInABurstOfOthersIsTakenOnce(t *testing.T) {
	harness.Usual(t)
	forEach(t, forwardModes, func(t *testing.T, mode string, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--forward", mode,
			"--", harness.WorkerBin, "listen", "-catch", "all", "-drain", "100ms", "-exit", "7"}})
		p.WaitReady()
		others := []syscall.Signal{unix.SIGWINCH, unix.SIGUSR1, unix.SIGUSR2, unix.SIGHUP, unix.SIGTTIN, 35, 40, 50, 64}
		for n := range 1000 {
			if n == 500 {
				p.Signal(unix.SIGTERM)
			}
			p.Signal(others[n%len(others)])
		}
		p.WantExit(7)
		if n := strings.Count(p.Out(), "got SIGTERM\n"); n != 1 {
			t.Errorf("the worker got %d TERM\n%s", n, p.Out())
		}
		if strings.Count(p.Out(), "drained") != 1 {
			t.Errorf("the worker did not drain:\n%s", p.Out())
		}
	})
}

func TestFloodOfOneSignalLosesNoOther(t *testing.T) {
	harness.Usual(t)
	for _, flood := range []syscall.Signal{unix.SIGWINCH, unix.SIGURG, unix.SIGCHLD, unix.SIGALRM, 50} {
		t.Run(signals.Name(flood), func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", harness.WorkerBin, "listen", "-catch", "all", "-exit", "7"}})
				p.WaitReady()
				var want []string
				for _, sig := range []syscall.Signal{unix.SIGUSR1, unix.SIGHUP, unix.SIGTSTP, unix.SIGQUIT, 41} {
					want = append(want, sendIn(p, flood, sig))
				}
				for _, line := range want {
					p.WaitOut(`^` + regexp.QuoteMeta(line) + `$`)
				}
				want = append(want, sendIn(p, flood, unix.SIGTERM))
				p.WantExit(7)
				for _, line := range want {
					if n := strings.Count(p.Out(), line+"\n"); n != 1 {
						t.Errorf("%q %d times", line, n)
					}
				}
			})
		})
	}
}

// sendIn sends a signal in the middle of many of another, and returns the line
// that the worker has for it.
func sendIn(p *harness.Init, flood, sig syscall.Signal) (line string) {
	p.T.Helper()
	for n := range 400 {
		if n == 200 {
			p.Signal(sig)
		}
		p.Signal(flood)
	}
	return "got " + signals.Name(sig)
}
