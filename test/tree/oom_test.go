package tree

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// The kernel is to kill the worker before drainit, which else takes the whole container with
// it: drainit has a low oom_score_adj, where it may have that (CAP_SYS_RESOURCE). The worker, and
// what it starts, has the one that drainit was given. A drainit that may not lower it says nothing:
// it is so for every plain user, and in most containers.
func TestOutOfMemoryTakesTheWorkerBeforeDrainit(t *testing.T) {
	harness.Need(t, "perl")
	mayLower := exec.Command("/bin/sh", "-c", "echo -999 >/proc/self/oom_score_adj").Run() == nil
	for _, uid := range []int{0, harness.PlainUser} {
		t.Run(fmt.Sprint("user ", uid), func(t *testing.T) {
			if uid != 0 {
				harness.NeedRoot(t)
			}
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				worker := harness.Script(`spawn { say "child $$"; forever }; catch "TERM"; say "ready $$"; await "TERM"; exit 7`)
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Setup: harness.Setup{UID: uid}, Bin: "/bin/sh",
					Args: append([]string{"-c", `echo 500 >/proc/self/oom_score_adj && exec "$0" "$@"`, harness.DrainitBin}, harness.Line([]string{harness.LongGrace}, worker...)...)})
				wantScore := func(pid, want int) {
					if got := strings.TrimSpace(harness.TextOf(t, fmt.Sprintf("/proc/%d/oom_score_adj", pid))); got != fmt.Sprint(want) {
						t.Errorf("%d has oom_score_adj %s, want %d", pid, got, want)
					}
				}
				wantScore(p.ReadyPid("^ready"), 500)
				wantScore(p.ReadyPid("^child"), 500)
				p.WaitTitle("drainit:run") // what the worker need not wait for is done by then
				if mayLower && uid == 0 {
					wantScore(p.Pid(), -999)
				} else {
					wantScore(p.Pid(), 500)
				}
				p.Signal(unix.SIGTERM)
				p.WantExit(7)
				p.WantLogged(`oom`, 0)
			})
		})
	}
}
