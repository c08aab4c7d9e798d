package test

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// When the worker has been signalled, probes know already.
func TestProbesFollowThePhases(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launchProbed(t, Launch{NoPID1: noPID1, Args: endsByUSR1()})
		p.wantProbes("200 running", "200 running")
		for n := range 3 {
			p.signal(syscall.SIGTSTP)
			p.waitOut(fmt.Sprintf(`(?s)(got SIGTSTP.*){%d}`, n+1))
			p.wantProbes("503 quiet", "200 quiet")
			p.signal(syscall.SIGCONT)
			p.waitErr(fmt.Sprintf(`(?s)(running again.*){%d}`, n+1))
			p.wantProbes("200 running", "200 running")
		}
		p.signal(syscall.SIGTERM)
		p.waitOut(`^got SIGTERM`)
		p.wantProbes("503 draining", "200 draining")
		p.signal(syscall.SIGUSR1)
		p.wantExit(7)
		if answer, err := get("http://" + p.addr + "/healthz"); err == nil {
			t.Errorf("%q after the end", answer)
		}
	})
}

func TestReadinessFallsBeforeAStopDelay(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launchProbed(t, Launch{NoPID1: noPID1, Args: append([]string{"--stop-delay", "25s"}, endsByUSR1()...)})
		p.signal(syscall.SIGTERM)
		p.waitOut(`^got SIGTSTP`)
		p.wantProbes("503 draining", "200 draining")
		p.signal(syscall.SIGUSR1)
		p.wantExit(7)
		p.wantGots("got SIGTSTP", "got SIGUSR1")
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
func (p probed) untilNotReady(sig syscall.Signal) time.Duration {
	p.t.Helper()
	began := time.Now()
	p.get("/readyz")
	alone := time.Since(began)
	began = time.Now()
	p.signal(sig)
	waitUntil(p.t, fmt.Sprintf("not ready after %v", sig), func() bool { return p.get("/readyz") != "200 running" })
	return time.Since(began) - alone
}

func TestReadinessFallsAtOnceByQuiet(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launchProbed(t, Launch{NoPID1: noPID1, Args: endsByUSR1()})
		wantMedianWithin(t, fallsWithin, func() time.Duration {
			took := p.untilNotReady(syscall.SIGTSTP)
			p.signal(syscall.SIGCONT)
			p.waitRunning()
			return took
		})
	})
}

func TestReadinessFallsAtOnceByAStop(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		wantMedianWithin(t, fallsWithin, func() time.Duration {
			p := launchProbed(t, Launch{NoPID1: noPID1, Args: endsByUSR1()})
			took := p.untilNotReady(syscall.SIGTERM)
			p.signal(syscall.SIGUSR1)
			p.wantExit(7)
			return took
		})
	})
}

// The worker is dead, and what it left is not.
func TestHealthFallsWithTheWorker(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		stdin, end := pipe(t)
		p := launchProbed(t, Launch{NoPID1: noPID1, Stdin: stdin, Args: []string{"--", "sh", "-c",
			`"$0" listen -catch TERM,USR1 -end USR1 & read line; exit 3`, workerBin}})
		left := p.readyPid(`^ready`)
		p.wantProbes("200 running", "200 running")
		end.Close()
		p.waitErr(`exited with status 3 and left 1 process`)
		p.waitOut(`^got SIGTERM`)
		waitUntil(t, "not healthy", func() bool { return p.get("/healthz") == "503 draining" })
		p.wantProbes("503 draining", "503 draining")
		if err := syscall.Kill(left, syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		p.wantExit(3)
	})
}

func TestHealthFallsWithTheWorkerInADrain(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launchProbed(t, Launch{NoPID1: noPID1, Args: []string{"--", "sh", "-c",
			`trap "exit 3" TERM; "$0" listen -catch TERM,USR1 -end USR1 & wait`, workerBin}})
		left := p.readyPid(`^ready`)
		p.signal(syscall.SIGTERM)
		waitUntil(t, "not healthy", func() bool { return p.get("/healthz") == "503 draining" })
		p.wantProbes("503 draining", "503 draining")
		if err := syscall.Kill(left, syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		p.wantExit(3)
	})
}

func TestWorkerThatHasDaemonizedIsHealthy(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launchProbed(t, Launch{NoPID1: noPID1, Args: []string{"--forking", "--", "sh", "-c",
			`"$0" listen -catch TERM,TSTP,USR1 -end USR1 & exit 0`, workerBin}})
		p.waitErr(`runs on in`)
		p.wantProbes("200 running", "200 running")
		p.signal(syscall.SIGTSTP)
		p.waitOut(`^got SIGTSTP`)
		p.wantProbes("503 quiet", "200 quiet")
		p.signal(syscall.SIGTERM)
		p.waitOut(`^got SIGTERM`)
		p.wantProbes("503 draining", "200 draining")
		p.signal(syscall.SIGUSR1)
		p.wantExit(0)
	})
}

// A shell that dies by the stop signal hands the work over: a probe in between
// must not have the platform kill it.
func TestHealthStaysWithTheHeir(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launchProbed(t, Launch{NoPID1: noPID1, Args: []string{"--", "sh", "-c",
			`"$0" listen -catch TERM,USR1 -end USR1 -exit 7; exit $?`, workerBin}})
		successor := p.readyPid(`^ready`)
		p.signal(syscall.SIGTERM)
		for !strings.Contains(p.out(), "got SIGTERM") {
			if answer := p.get("/healthz"); answer != "200 running" && answer != "200 draining" {
				t.Fatalf("/healthz: %q", answer)
			}
		}
		p.wantProbes("503 draining", "200 draining")
		if err := syscall.Kill(successor, syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		p.wantExit(7)
	})
}
