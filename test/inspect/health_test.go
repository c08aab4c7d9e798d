package inspect

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"drainit/test/harness"
)

// probed runs a test with a drainit that answers probes, and whose worker ends by USR1.
func probed(t *testing.T, test func(t *testing.T, p harness.Probed)) {
	t.Helper()
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		test(t, harness.LaunchProbed(t, harness.Launch{NoPID1: noPID1, Args: harness.EndsByUSR1()}))
	})
}

// wantHealthyDrain stops drainit, whose worker is alive until it is sent USR1.
func wantHealthyDrain(p harness.Probed, status int) {
	p.T.Helper()
	p.Signal(syscall.SIGTERM)
	p.WaitOut(`^got SIGTERM`)
	p.WantProbes("503 draining", "200 draining")
	p.Signal(syscall.SIGUSR1)
	p.WantExit(status)
}

// When the worker has been signalled, probes know already.
func TestProbesFollowThePhases(t *testing.T) {
	probed(t, func(t *testing.T, p harness.Probed) {
		p.WantProbes("200 running", "200 running")
		for n := range 3 {
			p.Signal(syscall.SIGTSTP)
			p.WaitOut(fmt.Sprintf(`(?s)(got SIGTSTP.*){%d}`, n+1))
			p.WantProbes("503 quiet", "200 quiet")
			p.Signal(syscall.SIGCONT)
			p.WaitErr(fmt.Sprintf(`(?s)(running again.*){%d}`, n+1))
			p.WantProbes("200 running", "200 running")
		}
		wantHealthyDrain(p, 7)
		if answer, err := harness.Get("http://" + p.Addr + "/healthz"); err == nil {
			t.Errorf("%q after the end", answer)
		}
	})
}

func TestReadinessFallsBeforeAStopDelay(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.LaunchProbed(t, harness.Launch{NoPID1: noPID1, Args: append([]string{"--stop-delay", "25s"}, harness.EndsByUSR1()...)})
		p.Signal(syscall.SIGTERM)
		p.WaitOut(`^got SIGTSTP`)
		p.WantProbes("503 draining", "200 draining")
		p.Signal(syscall.SIGUSR1)
		p.WantExit(7)
		p.WantGots("got SIGTSTP", "got SIGUSR1")
	})
}

// fallsWithin is how long after the signal the probes may go on as before.
const fallsWithin = 50 * time.Millisecond

// wantMedianWithin measures how long something takes. A busy machine adds its own to
// each single time, so that the median counts.
func wantMedianWithin(t *testing.T, limit time.Duration, measure func() time.Duration) {
	t.Helper()
	const measured = 15
	var all []time.Duration
	for range measured {
		all = append(all, measure())
	}
	slices.Sort(all)
	if median := all[measured/2]; median > limit {
		t.Errorf("took %v, want at most %v in the middle", all, limit)
	}
}

// untilNotReady is the time from a signal to the first probe that says so, without what a
// probe takes. That it is not later than the worker is signalled, TestProbesFollowThePhases shows.
func untilNotReady(p harness.Probed, sig syscall.Signal) time.Duration {
	p.T.Helper()
	began := time.Now()
	p.Get("/readyz")
	alone := time.Since(began)
	began = time.Now()
	p.Signal(sig)
	harness.WaitUntil(p.T, fmt.Sprintf("not ready after %v", sig), func() bool { return p.Get("/readyz") != "200 running" })
	return time.Since(began) - alone
}

func TestReadinessFallsAtOnceByQuiet(t *testing.T) {
	probed(t, func(t *testing.T, p harness.Probed) {
		wantMedianWithin(t, fallsWithin, func() time.Duration {
			took := untilNotReady(p, syscall.SIGTSTP)
			p.Signal(syscall.SIGCONT)
			p.WaitRunning()
			return took
		})
	})
}

func TestReadinessFallsAtOnceByAStop(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		wantMedianWithin(t, fallsWithin, func() time.Duration {
			p := harness.LaunchProbed(t, harness.Launch{NoPID1: noPID1, Args: harness.EndsByUSR1()})
			took := untilNotReady(p, syscall.SIGTERM)
			p.Signal(syscall.SIGUSR1)
			p.WantExit(7)
			return took
		})
	})
}

// wantUnhealthy waits until drainit is not healthy, as its worker has gone, and lets what
// that left end.
func wantUnhealthy(p harness.Probed, left int) {
	p.T.Helper()
	harness.WaitUntil(p.T, "not healthy", func() bool { return p.Get("/healthz") == "503 draining" })
	p.WantProbes("503 draining", "503 draining")
	harness.Kill(p.T, left, syscall.SIGUSR1)
	p.WantExit(3)
}

// The worker is dead, and what it left is not.
func TestHealthFallsWithTheWorker(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		stdin, end := harness.Pipe(t)
		p := harness.LaunchProbed(t, harness.Launch{NoPID1: noPID1, Stdin: stdin, Args: []string{"--", "sh", "-c",
			`"$0" listen -catch TERM,USR1 -end USR1 & read line; exit 3`, harness.WorkerBin}})
		left := p.ReadyPid(`^ready`)
		p.WantProbes("200 running", "200 running")
		end.Close()
		p.WaitErr(`exited with status 3 and left 1 process`)
		p.WaitOut(`^got SIGTERM`)
		wantUnhealthy(p, left)
	})
}

func TestHealthFallsWithTheWorkerInADrain(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.LaunchProbed(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", "sh", "-c",
			`trap "exit 3" TERM; "$0" listen -catch TERM,USR1 -end USR1 & wait`, harness.WorkerBin}})
		left := p.ReadyPid(`^ready`)
		p.Signal(syscall.SIGTERM)
		wantUnhealthy(p, left)
	})
}

func TestWorkerThatHasDaemonizedIsHealthy(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.LaunchProbed(t, harness.Launch{NoPID1: noPID1, Args: []string{"--forking", "--", "sh", "-c",
			`"$0" listen -catch TERM,TSTP,USR1 -end USR1 & exit 0`, harness.WorkerBin}})
		p.WaitErr(`runs on in`)
		p.WantProbes("200 running", "200 running")
		p.Signal(syscall.SIGTSTP)
		p.WaitOut(`^got SIGTSTP`)
		p.WantProbes("503 quiet", "200 quiet")
		wantHealthyDrain(p, 0)
	})
}

// A shell that dies by the stop signal hands the work over: a probe in between
// must not have the platform kill it.
func TestHealthStaysWithTheHeir(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.LaunchProbed(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", "sh", "-c",
			`"$0" listen -catch TERM,USR1 -end USR1 -exit 7; exit $?`, harness.WorkerBin}})
		successor := p.ReadyPid(`^ready`)
		p.Signal(syscall.SIGTERM)
		for !strings.Contains(p.Out(), "got SIGTERM") {
			if answer := p.Get("/healthz"); answer != "200 running" && answer != "200 draining" {
				t.Fatalf("/healthz: %q", answer)
			}
		}
		p.WantProbes("503 draining", "200 draining")
		harness.Kill(t, successor, syscall.SIGUSR1)
		p.WantExit(7)
	})
}
