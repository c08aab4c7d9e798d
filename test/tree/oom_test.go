package tree

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// mayLowerScore reports whether a process may have a low score: with CAP_SYS_RESOURCE.
func mayLowerScore() bool {
	return exec.Command("/bin/sh", "-c", "echo -999 >/proc/self/oom_score_adj").Run() == nil
}

func oomScore(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The kernel is to kill the worker before drainit, which else takes the whole container with
// it: drainit has a low oom_score_adj, where it may have that. The worker, and what it
// starts, has the one that drainit was given.
func TestOutOfMemoryTakesTheWorkerBeforeDrainit(t *testing.T) {
	harness.Need(t, "perl")
	for _, given := range []int{500, 1000} {
		t.Run(fmt.Sprint(given), func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				worker := harness.Script(`spawn { say "child $$"; forever }; catch "TERM"; say "ready $$"; await "TERM"; exit 7`)
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Bin: "/bin/sh", Args: append([]string{"-c", `echo "$0" >/proc/self/oom_score_adj && exec "$@"`, fmt.Sprint(given), harness.DrainitBin},
					harness.Line([]string{harness.LongGrace}, worker...)...)})
				for _, name := range []string{"ready", "child"} {
					if got := oomScore(t, p.ReadyPid("^"+name)); got != given {
						t.Errorf("%s: oom_score_adj %d, want %d, as given", name, got, given)
					}
				}
				p.WaitTitle("drainit:run") // what the worker need not wait for is done by then
				want := given
				if mayLowerScore() {
					want = -999
				}
				if got := oomScore(t, p.Pid()); got != want {
					t.Errorf("drainit has oom_score_adj %d, want %d", got, want)
				}
				p.Signal(unix.SIGTERM)
				p.WantExit(7)
				p.WantLogged(`oom`, 0)
			})
		})
	}
}

// A drainit that may not lower it says nothing: it is so for every plain user, and in most
// containers.
func TestOutOfMemoryWithoutTheRightIsNoNews(t *testing.T) {
	harness.NeedRoot(t)
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Setup: harness.Setup{UID: harness.PlainUser}, Args: []string{"--", "sh", "-c", "cat /proc/self/oom_score_adj"}})
		if want := fmt.Sprintln(oomScore(t, os.Getpid())); r.Status != 0 || r.Out != want || r.Err != "" {
			t.Errorf("exit status %d, stdout %q, want %q, stderr %q", r.Status, r.Out, want, r.Err)
		}
	})
}
