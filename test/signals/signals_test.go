package signals

import (
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
	"drainit/test/harness"
)

// catchable are the signals that drainit can see and passes on: 1 to 63, but
// KILL and STOP, PROF and 32 to 34, which the Go runtime never delivers, and
// URG, CHLD, PIPE, XCPU, XFSZ and the faults, which are drainit's own. The list is written out: one
// that is computed would have the same hole as the code.
var catchable = []syscall.Signal{
	1, 2, 3, 6, 10, 12, 14, 15, 18, 20, 21, 22, 26, 28, 29, 30,
	35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63,
}

func TestEachSignalReachesTheWorkerOnce(t *testing.T) {
	for _, stop := range []syscall.Signal{unix.SIGTERM, unix.SIGINT} {
		t.Run(signals.Name(stop), func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				p := launch(t, noPID1, nil, listening("-end", "TERM,INT")...)
				var want []string
				pass := func(sig syscall.Signal) {
					t.Helper()
					line := "got " + signals.Name(sig)
					want = append(want, line)
					p.Signal(sig)
					p.WaitOut(`^` + regexp.QuoteMeta(line) + `$`)
				}
				for _, sig := range catchable {
					if sig != unix.SIGTERM && sig != unix.SIGINT {
						pass(sig)
					}
				}
				pass(stop)
				p.WantExit(7)
				p.WantGots(want...)
			})
		})
	}
}

// On each way down a signal goes to the first that handles it, and to no process below that one.
func TestSignalGoesToTheFirstThatHandlesIt(t *testing.T) {
	for tree, names := range map[string]string{
		"a[@](b[@])": "a",
		"a[-@](b[@](c[@]) d(e[@] f[pgrp,@](g[pgrp,@])) h(i(j[@])))": "b e f j",
	} {
		t.Run(tree, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				// All signals in one tree: each finds its own way.
				ready := strings.Join(regexp.MustCompile(`\b[a-j]\b`).FindAllString(tree, -1), " ")
				p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{harness.LongGrace}}, harness.Spread(tree), ready)
				var want []string
				for _, sig := range harness.PassedOn {
					p.Signal(unix.SignalNum("SIG" + sig))
					for name := range strings.FieldsSeq(names) {
						want = append(want, name+" got "+sig)
						p.WaitOut(`^` + name + ` got ` + sig + `$`)
					}
				}
				wantStop(p, 143, want...)
			})
		})
	}
}

// On a terminal the groups are not orphaned: the kernel would stop those without a handler.
func TestTtinAndTtouGoOnlyToThoseThatHandleThem(t *testing.T) {
	forEach(t, forwardModes, func(t *testing.T, mode string, noPID1 bool) {
		p := harness.StartTree(t, harness.OnTerminal(t, harness.Launch{NoPID1: noPID1, Args: []string{"--forward", mode, harness.LongGrace}}),
			"a[TTIN,USR1,TERM=7](b c[pgrp])", "a b c")
		p.WaitTitle("drainit:run")
		p.Signal(unix.SIGTTOU)
		passTo(p, unix.SIGTTIN, "a")
		p.Signal(unix.SIGTTOU)
		p.Signal(unix.SIGTTIN)
		harness.WaitUntil(t, "two TTIN", func() bool { return len(harness.Gots(p.Out())) == 2 })
		p.WantNotStopped()
		wantStop(p, 7, "a got TTIN", "a got TTIN", "a got TERM")
	})
}
