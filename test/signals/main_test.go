package signals

import (
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
	"drainit/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// forwardModes are the values of --forward.
var forwardModes = []string{"auto", "group", "worker"}

// forEach runs a test with each of some values, as PID 1 and not as PID 1.
func forEach(t *testing.T, values []string, test func(t *testing.T, value string, noPID1 bool)) {
	t.Helper()
	for _, value := range values {
		t.Run(value, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) { test(t, value, noPID1) })
		})
	}
}

// launch starts drainit with flags and a worker, and waits until that is ready.
func launch(t *testing.T, noPID1 bool, flags []string, command ...string) *harness.Init {
	t.Helper()
	p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line(append(flags, harness.LongGrace), command...)})
	p.WaitReady()
	return p
}

// listening is a worker that prints all signals and ends with 7.
func listening(args ...string) []string {
	return append([]string{harness.WorkerBin, "listen", "-catch", "all", "-exit", "7"}, args...)
}

// passTo sends a signal and waits until a process of a PerlTree has got it.
func passTo(p *harness.Init, sig syscall.Signal, name string) {
	p.T.Helper()
	p.Signal(sig)
	p.WaitOut(`^` + name + ` got ` + strings.TrimPrefix(signals.Name(sig), "SIG"))
}

// wantStop sends TERM, waits for the end, and compares the exit status and all that
// arrived.
func wantStop(p *harness.Init, status int, gots ...string) {
	p.T.Helper()
	p.Signal(unix.SIGTERM)
	p.WantExit(status)
	p.WantGots(gots...)
}
