package tree

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"drainit/test/harness"
)

// usualThreads are drainit's at most, without those for probes and for the question whether the worker is
// ready, on a machine with nothing else to do. A busy one has it start a few more, as a thread that is
// about to sleep cannot take new work. enough is a pids.max with which it starts on any, with the worker.
// The pages say both.
const usualThreads, enough = 14, 24

func TestPagesSayHowManyThreadsThereAre(t *testing.T) {
	for say, pages := range map[string][]string{
		fmt.Sprintf("its %d threads", usualThreads):         {"README.md"},
		fmt.Sprintf("drainit's %d threads", usualThreads):   {"docs/platforms.md"},
		fmt.Sprintf("has %d threads at most", usualThreads): {"test/tree/doc.go"},
		fmt.Sprintf("`pids.max` of %d is enough for all", enough): {"README.md", "docs/platforms.md",
			"test/tree/doc.go"},
	} {
		for _, page := range pages {
			if text := harness.TextOf(t, filepath.Join("../..",
				page)); !regexp.MustCompile(regexp.QuoteMeta(say)).MatchString(text) {
				t.Errorf("%s does not say %q", page, say)
			}
		}
	}
}

// bothProbes are the flags that take a thread each.
func bothProbes(t *testing.T) []string {
	return []string{"--health-addr", "127.0.0.1:" + strconv.Itoa(harness.ReservePort(t)), "--ready-port", "1"}
}

func TestRoomForTheThreads(t *testing.T) {
	limited := harness.NewCgroup(t, "pids")
	limitPids(t, limited, enough)
	for range harness.Of(50, 5) {
		for _, flags := range [][]string{nil, bothProbes(t)} {
			harness.Run(t, harness.Launch{Under: harness.Joining(limited),
				Args: append(flags, "--", "true")}).
				WantExit(0)
		}
	}
}

// A busy machine adds some to one start, and not to each.
func TestNumberOfThreads(t *testing.T) {
	for more, flags := range map[int][]string{0: nil, 2: bothProbes(t)} {
		fewest := enough
		for range 5 {
			p := harness.RunToEnd(t, harness.Launch{Args: append(flags, "--", "sh", "-c",
				"ls /proc/$PPID/task | wc -l")})
			fewest = min(fewest, harness.Number(t, p.Out))
		}
		if fewest > usualThreads+more {
			t.Errorf("with %q drainit has %d threads at least, want %d at most", flags, fewest,
				usualThreads+more)
		}
	}
}

// limitPids sets how many processes and threads may be in a cgroup.
func limitPids(t *testing.T, cgroup string, most int) {
	t.Helper()
	harness.WriteFile(t, filepath.Join(cgroup, "pids.max"), strconv.Itoa(most))
}
