package signals

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// A TERM that comes the moment the worker has been forked must reach it: peers
// lose two thirds of these in their group modes, because the worker is not in
// its group yet, or has not unblocked its signals.
func TestTermTheMomentTheWorkerExistsIsNotLost(t *testing.T) {
	for _, tc := range []struct {
		name    string
		few     int
		many    int
		command []string
		want    []int
	}{
		{"default disposition", 5, 200, []string{"sleep", "1000"}, []int{143}},
		// 143 before the trap is set.
		{"shell with a trap", 3, 50, []string{"dash", "-c", `trap "exit 7" TERM; while :; do sleep 0.01; done`}, []int{143, 7}},
	} {
		for _, mode := range []string{"auto", "group"} {
			t.Run(tc.name+", forward "+mode, func(t *testing.T) {
				t.Parallel()
				harness.Need(t, tc.command[0])
				harness.BothModes(t, func(t *testing.T, noPID1 bool) {
					t.Parallel()
					args := append([]string{"--grace", "infinity", "--forward", mode, "--"}, tc.command...)
					fewAndMany(t, tc.few, tc.many, func(t *testing.T, starts int) {
						for range starts {
							early(harness.Run(t, harness.Launch{NoPID1: noPID1, Args: args}), tc.want)
						}
					})
				})
			})
		}
	}
}

// early sends TERM at once and checks that it ends the init.
func early(p *harness.Init, want []int) {
	p.T.Helper()
	for deadline := time.Now().Add(harness.Patience); p.FirstChild() == 0; { // no sleep: a look takes microseconds
		if !p.Running() || time.Now().After(deadline) {
			p.T.Fatalf("no worker\nstderr:\n%s", p.Err())
		}
	}
	p.Signal(unix.SIGTERM)
	got := p.Wait()
	for _, status := range want {
		if got == status {
			return
		}
	}
	p.T.Fatalf("exit status %d, want one of %v\nstderr:\n%s", got, want, p.Err())
}

// A worker may send its init a signal as the first thing it does, to hear that it comes
// through: by then those are subscribed to that workers send, and those that a flag names.
func TestSignalThatTheWorkerSendsFirstIsNotLost(t *testing.T) {
	harness.Usual(t)
	harness.Need(t, "dash")
	for sig, flags := range map[string][]string{"USR1": nil, "WINCH": nil, "64": {"--rewrite", "64:64"}} {
		t.Run(sig, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				for range 2 {
					harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line(flags, "dash", "-c",
						`trap "exit 7" `+sig+`; kill -s `+sig+` $PPID; while :; do sleep 0.01; done`)}).WantExit(7)
				}
			})
		})
	}
}
