package tree

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"drainit/test/harness"
)

// mostThreads are drainit's at most, without those for probes and for the question whether the worker is ready. On a
// quiet machine there is one less. The pages say how many.
const mostThreads = 14

func TestPagesSayHowManyThreadsThereAre(t *testing.T) {
	for page, say := range map[string]string{"README.md": `its %d threads`, "docs/platforms.md": `drainit's %d threads`, "docs/method.md": `has %d threads at most`} {
		text := harness.TextOf(t, filepath.Join("../..", page))
		if want := fmt.Sprintf(say, mostThreads); !regexp.MustCompile(regexp.QuoteMeta(want)).MatchString(text) {
			t.Errorf("%s does not say %q", page, want)
		}
	}
	want := fmt.Sprintf("`pids.max` must be %d at least, and %d with both", mostThreads+1, mostThreads+3)
	if text := harness.TextOf(t, "../../docs/method.md"); !regexp.MustCompile(regexp.QuoteMeta(want)).MatchString(text) {
		t.Errorf("docs/method.md does not say %q", want)
	}
}

// That is room enough: for the threads, and for the worker.
func TestRoomForTheThreads(t *testing.T) {
	limited := harness.NewPidsCgroup(t)
	both := []string{"--health-addr", "127.0.0.1:" + strconv.Itoa(harness.ReservePort(t)), "--ready-port", "1"}
	for more, flags := range map[int][]string{0: nil, 2: both} {
		limited.Limit(t, mostThreads+more+1)
		for range harness.Of(50, 5) {
			limited.Run(t, harness.Launch{Args: append(flags, "--", "true")}).WantExit(0)
		}
	}
}
