package inspect

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// probed runs a test with a drainit that answers probes, and whose worker ends by USR1.
func probed(t *testing.T, test func(t *testing.T, p harness.Probed)) {
	t.Helper()
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		test(t, harness.LaunchProbed(t, 0, harness.Launch{NoPID1: noPID1, Args: harness.EndsByUSR1()}))
	})
}

// probedShell is a probed drainit whose worker is a shell that starts a program, "$0", which ends by USR1.
func probedShell(t *testing.T, noPID1 bool, script string, flags ...string) (p harness.Probed, started int) {
	t.Helper()
	script = strings.ReplaceAll(script, "LISTEN", `"$0" listen -catch TERM,TSTP,USR1 -end USR1`)
	p = harness.LaunchProbed(t, 0, harness.Launch{NoPID1: noPID1,
		Args: append(flags, "--", "sh", "-c", script, harness.WorkerBin)})
	return p, p.ReadyPid(`^ready`)
}

// When the worker has been signalled, probes know already.
func TestProbesFollowThePhases(t *testing.T) {
	probed(t, func(t *testing.T, p harness.Probed) {
		p.WantProbes("200 running", "200 running")
		for n := range 2 {
			p.Signal(unix.SIGTSTP)
			p.WaitOut(fmt.Sprintf(`(?s)(got SIGTSTP.*){%d}`, n+1))
			p.WantProbes("503 quiet", "200 quiet")
			p.Signal(unix.SIGCONT)
			p.WaitErr(fmt.Sprintf(`(?s)(running again.*){%d}`, n+1))
			p.WantProbes("200 running", "200 running")
		}
		p.Signal(unix.SIGTERM)
		p.WaitOut(`^got SIGTERM`)
		p.WantProbes("503 draining", "200 draining")
		p.Signal(unix.SIGUSR1)
		p.WantExit(7)
		if answer, err := harness.Get("http://" + p.Addr + "/healthz"); err == nil {
			t.Errorf("%q after the end", answer)
		}
	})
}

// The worker is dead, by itself or in a drain, and what it left is not.
func TestHealthStaysWithWhatTheWorkerLeft(t *testing.T) {
	for name, script := range map[string]string{"by itself": `trap "exit 3" HUP; LISTEN & wait`,
		"in a drain": `trap "exit 3" TERM; LISTEN & wait`} {
		t.Run(name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				p, left := probedShell(t, noPID1, script)
				p.Signal(map[string]syscall.Signal{"by itself": unix.SIGHUP,
					"in a drain": unix.SIGTERM}[name])
				p.WaitTitle("drainit:ended")
				p.WantProbes("503 draining", "200 draining")
				harness.Kill(t, left, unix.SIGUSR1)
				p.WantExit(3)
			})
		})
	}
}

// It lives in what it left, also while that drains.
func TestWorkerThatHasDaemonizedIsHealthy(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p, daemon := probedShell(t, noPID1, `LISTEN & exit 0`, "--forking")
		p.WaitErr(`runs on in`)
		p.WantProbes("200 running", "200 running")
		p.Signal(unix.SIGTSTP)
		p.WaitOut(`^got SIGTSTP`)
		p.WantProbes("503 quiet", "200 quiet")
		p.Signal(unix.SIGTERM)
		p.WaitOut(`^got SIGTERM`)
		p.WantTitle("drainit:drain")
		p.WantProbes("503 draining", "200 draining")
		harness.Kill(t, daemon, unix.SIGUSR1)
		p.WantExit(0)
	})
}

// A shell that dies by the stop signal hands the work over: a probe in between
// must not have the platform kill it.
func TestHealthStaysWithTheSuccessor(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p, successor := probedShell(t, noPID1, `LISTEN -exit 7; exit $?`)
		p.Signal(unix.SIGTERM)
		for !strings.Contains(p.Out(), "got SIGTERM") {
			if answer := p.Get("/healthz"); answer != "200 running" && answer != "200 draining" {
				t.Fatalf("/healthz: %q", answer)
			}
		}
		p.WantProbes("503 draining", "200 draining")
		p.WantTitle("drainit:drain")
		harness.Kill(t, successor, unix.SIGUSR1)
		p.WantExit(7)
	})
}
