package signals

import (
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// Signals about drainit's own children, pipes and limits are not the worker's, who handles them all.
func TestSignalsAboutDrainitItselfAreNotTheWorkers(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1}, "a[URG,CHLD,PIPE,XCPU,XFSZ,USR1,TERM=7](b[URG,CHLD,PIPE,XCPU,XFSZ])", "a b")
		for _, sig := range []unix.Signal{unix.SIGURG, unix.SIGCHLD, unix.SIGPIPE, unix.SIGXCPU, unix.SIGXFSZ} {
			p.Signal(sig)
			harness.WaitUntil(t, "drainit has taken it", func() bool { return !p.Running() || !pending(p) })
		}
		passTo(p, unix.SIGUSR1, "a")
		wantStop(p, 7, "a got USR1", "a got TERM")
	})
}
