package signals

import (
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// A worker that is stopped, by a debugger or a kill -STOP, does no work and is alive: drainit
// says so once, and is not ready until it goes on. From quiet it is quiet again. A stop continues it.
func TestStoppedWorkerIsNotReadyAndIsNamedOnce(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.LaunchProbed(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{harness.LongGrace},
			harness.Script(`catch "TSTP", "TERM", "USR1"; say "ready $$"; await "USR1"; exit 7`)...)})
		worker := p.ReadyPid(`^ready`)
		for _, is := range []struct{ title, probed string }{{"drainit:run", "running"}, {"drainit:quiet", "quiet"}} {
			if is.probed == "quiet" {
				passTo(p.Init, unix.SIGTSTP, "worker")
				p.WaitErr(`quiet: SIGTSTP`) // until then drainit continues what has stopped by it
			}
			harness.Freeze(t, worker)
			p.WaitErr(`"level":"warn".*perl\[\d+\] is stopped \(state T\) and does no work.*SIGCONT`)
			harness.WaitUntil(t, "it is not ready", func() bool { return p.Get("/readyz")[:3] == "503" })
			if is.probed == "running" {
				p.WaitTitle("drainit:stopped")
				p.WantProbes("503 stopped", "200 stopped")
			}
			harness.Kill(t, worker, unix.SIGCONT)
			p.WaitTitle(is.title)
			harness.WaitUntil(t, "probes know", func() bool { return p.Get("/healthz") == "200 "+is.probed })
		}
		harness.Freeze(t, worker)
		passTo(p.Init, unix.SIGTERM, "worker")
		p.WaitTitle("drainit:drain")
		p.WantProbes("503 draining", "200 draining")
		p.Signal(unix.SIGUSR1)
		p.WantExit(7)
		p.WantLogged(`is stopped`, 1)
		p.WantGots("worker got TSTP", "worker got TERM", "worker got USR1")
	})
}
