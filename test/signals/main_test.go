// Package signals tests which process gets which signal, and how often.
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
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				test(t, value, noPID1)
			})
		})
	}
}

// fewAndMany runs a test of what may go wrong at times: with few rounds, and with many in the
// whole of the tests.
func fewAndMany(t *testing.T, few, many int, test func(t *testing.T, rounds int)) {
	t.Helper()
	t.Run("few", func(t *testing.T) { test(t, few) })
	t.Run("many", func(t *testing.T) {
		harness.Full(t)
		test(t, many)
	})
}

// treeCase is a PerlTree, the processes of it that are to be ready, and the lines that
// say what arrived in the end.
type treeCase struct {
	name, tree, ready string
	want              []string
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
