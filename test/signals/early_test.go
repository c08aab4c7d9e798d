package signals

import (
	"fmt"
	"slices"
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
		starts  int
		command []string
		want    []int
	}{
		{harness.Of(200, 5), []string{"sleep", "1000"}, []int{143}},
		// 143 before the trap is set.
		{harness.Of(50, 3), []string{"dash", "-c", `trap "exit 7" TERM; while :; do sleep 0.01; done`}, []int{143, 7}},
	} {
		forEach(t, []string{"auto", "group"}, func(t *testing.T, mode string, noPID1 bool) {
			for range tc.starts {
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--grace=infinity", "--forward", mode}, tc.command...)})
				for deadline := time.Now().Add(harness.Patience); p.FirstChild() == 0; { // no sleep: a look takes microseconds
					if !p.Running() || time.Now().After(deadline) {
						t.Fatalf("no worker\nstderr:\n%s", p.Err())
					}
				}
				p.Signal(unix.SIGTERM)
				if got := p.Wait(); !slices.Contains(tc.want, got) {
					t.Fatalf("exit status %d, want one of %v\nstderr:\n%s", got, tc.want, p.Err())
				}
			}
		})
	}
}

// A worker may send its init a signal as the first thing it does, to hear that it comes
// through: by then those are subscribed to that workers send, and those that a flag names.
func TestSignalThatTheWorkerSendsFirstIsNotLost(t *testing.T) {
	harness.Usual(t)
	for sig, flags := range map[string][]string{"USR1": nil, "63": {"--rewrite", "63:63"}} {
		t.Run(sig, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				for range 2 {
					harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line(flags, "dash", "-c",
						fmt.Sprintf(`trap "exit 7" %[1]s; kill -s %[1]s $PPID; while :; do sleep 0.01; done`, sig))}).WantExit(7)
				}
			})
		})
	}
}
