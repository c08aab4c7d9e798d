package signals

import (
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// That the platform signals every process is seen where another's signal waits for a process, or has
// ended the worker, before drainit has sent any.
func TestPlatformThatSignalsEachIsNamed(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		const line = `seems to signal each process, so that each gets two\. Write --forward none`
		t.Run("the worker has died of it", func(t *testing.T) {
			// Two signals that wait for drainit come through the Go runtime in any order: the delay makes
			// it one.
			p := launch(t, noPID1, []string{"--stop-delay=5m"}, "sh", "-c", "echo ready $$; exec sleep 1000")
			worker := p.ReadyPid(`^ready`)
			p.Signal(unix.SIGTERM)
			p.WaitTitle("drainit:drain")
			harness.Kill(t, worker, unix.SIGTERM)
			p.WantExit(143)
			p.WantLogged(line, 1)
			p.WantLogged(`which drainit did not send`, 0)
		})
		t.Run("it waits for the worker", func(t *testing.T) {
			p := launch(t, noPID1, nil, listening()...)
			worker := p.ReadyPid(`^ready`)
			harness.Freeze(t, worker)
			harness.Kill(t, worker, unix.SIGTERM)
			p.Signal(unix.SIGTERM)
			p.WaitErr(line)
			p.WantExit(7)
		})
		t.Run("by --forward none it is right", func(t *testing.T) {
			p := launch(t, noPID1, []string{"--forward=none"}, listening()...)
			worker := p.ReadyPid(`^ready`)
			harness.Freeze(t, worker)
			harness.Kill(t, worker, unix.SIGTERM)
			p.Signal(unix.SIGTERM)
			p.WaitErr(`passed on to no process: the platform signals each itself \(--forward=none\)`)
			harness.Kill(t, worker, unix.SIGCONT)
			p.WantExit(7)
			p.WantCount("got SIGTERM", 1)
			p.WantLogged(line, 0)
		})
	})
}

// RTMAX forces the stop, whichever process sends it. An application that needs it has it rewritten.
func TestForceSignal(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		for flag, status := range map[string]int{"--rewrite=HUP:USR1": 137, "--rewrite=RTMAX:RTMAX": 7} {
			p := launch(t, noPID1, []string{flag},
				harness.Script(`$SIG{RTMAX} = sub { exit 7 }; say "ready"; forever`)...)
			p.Signal(64)
			p.WantExit(status)
			p.WantLogged(`RTMAX, drainit stop --force: killing perl`, map[int]int{137: 1}[status])
		}
	})
}
