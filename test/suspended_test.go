package test

import (
	"testing"

	"golang.org/x/sys/unix"
)

// stoppedLine is what the log says of a worker that is stopped.
const stoppedLine = `"level":"warn".*perl\[\d+\] is stopped \(state T\) and does no work.*SIGCONT`

// A worker that is stopped, by a debugger or a kill -STOP, does no work and is alive: drainit
// says so once, and is not ready until it goes on.
func TestStoppedWorkerIsNotReadyAndIsNamedOnce(t *testing.T) {
	need(t, "perl")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launchProbed(t, Launch{NoPID1: noPID1, Args: line([]string{longGrace}, script(`catch "TERM"; say "ready $$"; await "TERM"; exit 7`)...)})
		worker := p.readyPid(`^ready`)
		for range 2 { // the second time in silence
			freeze(t, worker)
			p.waitTitle("drainit:stopped")
			p.waitErr(stoppedLine)
			if ready, healthy := p.get("/readyz"), p.get("/healthz"); ready != "503 stopped" || healthy[:3] != "200" {
				t.Errorf("/readyz: %q, want 503 stopped; /healthz: %q, want 200", ready, healthy)
			}
			if err := unix.Kill(worker, unix.SIGCONT); err != nil {
				t.Fatal(err)
			}
			p.waitTitle("drainit:run")
			p.wantProbes("200 running", "200 running")
		}
		p.signal(unix.SIGTERM)
		p.wantExit(7)
		p.wantLogged(`is stopped`, 1)
		p.wantCount("worker got TERM", 1)
	})
}

// A stop continues a stopped worker, so that it can drain.
func TestStoppedWorkerDrains(t *testing.T) {
	need(t, "perl")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launchProbed(t, Launch{NoPID1: noPID1, Args: line([]string{longGrace}, script(`catch "TERM", "USR1"; say "ready $$"; await "USR1"; exit 7`)...)})
		worker := p.readyPid(`^ready`)
		freeze(t, worker)
		p.waitTitle("drainit:stopped")
		p.signal(unix.SIGTERM)
		p.waitOut(`^worker got TERM`)
		p.waitTitle("drainit:drain")
		p.wantProbes("503 draining", "200 draining")
		p.signal(unix.SIGUSR1)
		p.wantExit(7)
		p.wantCount("worker got TERM", 1)
	})
}

// A worker that stops in a quiet is quiet again when it goes on.
func TestStoppedWorkerIsQuietAgain(t *testing.T) {
	need(t, "perl")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launchProbed(t, Launch{NoPID1: noPID1, Args: line([]string{longGrace}, script(`catch "TSTP", "TERM"; say "ready $$"; await "TERM"; exit 7`)...)})
		worker := p.readyPid(`^ready`)
		p.signal(unix.SIGTSTP)
		p.waitOut(`^worker got TSTP`)
		p.waitTitle("drainit:quiet")
		freeze(t, worker)
		p.waitErr(stoppedLine)
		waitUntil(t, "it is not ready", func() bool { return p.get("/readyz")[:3] == "503" })
		if err := unix.Kill(worker, unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
		p.waitTitle("drainit:quiet")
		p.wantProbes("503 quiet", "200 quiet")
		p.signal(unix.SIGTERM)
		p.wantExit(7)
	})
}
