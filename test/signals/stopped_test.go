package signals

import (
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// A stopped process sees no TERM before it is continued, by which peers hang.
func TestStoppedWorkerIsContinuedToDrain(t *testing.T) {
	forEach(t, forwardModes, func(t *testing.T, mode string, noPID1 bool) {
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{"--forward", mode}}, "a[TERM=7]", "a")
		harness.Freeze(t, p.PidOf("a"))
		wantStop(p, 7, "a got TERM")
	})
}

func TestStoppedWorkerWithoutAHandlerDies(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1}, "a", "a")
		harness.Freeze(t, p.PidOf("a"))
		p.Signal(unix.SIGINT)
		p.WantExit(130)
	})
}

func TestStoppedMembersOfTheGroupAreContinued(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{"-g"}},
			"a[TERM,CONT,USR1=7](b[TERM,CONT,USR1=0] c[TERM,CONT,USR1=0])", "a b c")
		harness.Freeze(t, p.PidOf("b"))
		p.Signal(unix.SIGTERM)
		for _, line := range []string{"a got TERM", "c got TERM", "b got TERM", "b got CONT"} {
			p.WaitOut(`^` + line)
		}
		p.Signal(unix.SIGUSR1)
		p.WantExit(7)
		p.WantGots("a got TERM", "b got TERM", "c got TERM", "b got CONT", "a got USR1", "b got USR1", "c got USR1")
	})
}

// A stopped leftover is signalled and continued as the worker is.
func TestStoppedLeftoverIsContinued(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1}, "a(b[TERM=0])", "a b")
		harness.Freeze(t, p.PidOf("b"))
		wantStop(p, 143, "b got TERM")
	})
}

// CONT tells a worker to resume, where it was quieted by TSTP: one that is not
// stopped must not get it with its TERM.
func TestWorkerThatIsNotStoppedGetsNoCont(t *testing.T) {
	forEach(t, forwardModes, func(t *testing.T, mode string, noPID1 bool) {
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{"--forward", mode}},
			"a[TSTP,CONT,TERM,USR1=7]", "a")
		passTo(p, unix.SIGTSTP, "a")
		passTo(p, unix.SIGTERM, "a")
		p.Signal(unix.SIGUSR1)
		p.WantExit(7)
		p.WantGots("a got TSTP", "a got TERM", "a got USR1")
	})
}

// stoppedLine is what the log says of a worker that is stopped.
const stoppedLine = `"level":"warn".*perl\[\d+\] is stopped \(state T\) and does no work.*SIGCONT`

// launchStoppable starts a probed drainit with a worker that is a perl script, which says
// its pid when it is ready.
func launchStoppable(t *testing.T, noPID1 bool, script string) (p harness.Probed, worker int) {
	t.Helper()
	harness.Need(t, "perl")
	p = harness.LaunchProbed(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{harness.LongGrace}, harness.Script(script)...)})
	return p, p.ReadyPid(`^ready`)
}

// A worker that is stopped, by a debugger or a kill -STOP, does no work and is alive: drainit
// says so once, and is not ready until it goes on.
func TestStoppedWorkerIsNotReadyAndIsNamedOnce(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p, worker := launchStoppable(t, noPID1, `catch "TERM"; say "ready $$"; await "TERM"; exit 7`)
		for range 2 { // the second time in silence
			harness.Freeze(t, worker)
			p.WaitTitle("drainit:stopped")
			p.WaitErr(stoppedLine)
			if ready, healthy := p.Get("/readyz"), p.Get("/healthz"); ready != "503 stopped" || healthy[:3] != "200" {
				t.Errorf("/readyz: %q, want 503 stopped; /healthz: %q, want 200", ready, healthy)
			}
			harness.Kill(t, worker, unix.SIGCONT)
			p.WaitTitle("drainit:run")
			p.WantProbes("200 running", "200 running")
		}
		p.Signal(unix.SIGTERM)
		p.WantExit(7)
		p.WantLogged(`is stopped`, 1)
		p.WantCount("worker got TERM", 1)
	})
}

// A stop continues a stopped worker, so that it can drain.
func TestStoppedWorkerDrains(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p, worker := launchStoppable(t, noPID1, `catch "TERM", "USR1"; say "ready $$"; await "USR1"; exit 7`)
		harness.Freeze(t, worker)
		p.WaitTitle("drainit:stopped")
		passTo(p.Init, unix.SIGTERM, "worker")
		p.WaitTitle("drainit:drain")
		p.WantProbes("503 draining", "200 draining")
		p.Signal(unix.SIGUSR1)
		p.WantExit(7)
		p.WantCount("worker got TERM", 1)
	})
}

// A worker that stops in a quiet is quiet again when it goes on.
func TestStoppedWorkerIsQuietAgain(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p, worker := launchStoppable(t, noPID1, `catch "TSTP", "TERM"; say "ready $$"; await "TERM"; exit 7`)
		passTo(p.Init, unix.SIGTSTP, "worker")
		p.WaitErr(`quiet: SIGTSTP`) // until then drainit continues what has stopped by it
		harness.Freeze(t, worker)
		p.WaitErr(stoppedLine)
		harness.WaitUntil(t, "it is not ready", func() bool { return p.Get("/readyz")[:3] == "503" })
		harness.Kill(t, worker, unix.SIGCONT)
		p.WaitTitle("drainit:quiet")
		p.WantProbes("503 quiet", "200 quiet")
		p.Signal(unix.SIGTERM)
		p.WantExit(7)
	})
}
