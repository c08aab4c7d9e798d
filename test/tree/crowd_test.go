package tree

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// crowdTree is a worker without a handler and 40 jobs of its group that handle TERM, and
// others beside them.
func crowdTree(others string) (tree string, names, gots []string) {
	for i := range 40 {
		name := fmt.Sprintf("job%d", i)
		names, gots = append(names, name), append(gots, name+" got TERM")
	}
	tree = "a(" + strings.Join(names, "[TERM=0] ") + "[TERM=0] " + others + ")"
	return tree, append(names, "a"), gots
}

// Many jobs of a worker that dies of the signal get it once, whatever else is there, and end
// well.
func TestEachJobOfACrowdIsSignalledOnce(t *testing.T) {
	for _, tt := range []struct {
		name, others, ready string
		gots                []string
		stays               string // which does not end by the signal
	}{
		{"all alike", "", "", nil, ""},
		{"one in a group of its own", "b[TERM=0,pgrp]", "b", []string{"b got TERM"}, ""},
		{"one that handles it for what is below it", "b[TERM=0](c[TERM])", "b c", []string{"b got TERM", "c got TERM"}, "c"},
		{"one that ignores it", "b[-TERM]", "b", nil, "b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			grace := harness.LongGrace
			if tt.stays == "c" {
				harness.Full(t)
				grace = "--grace=20s" // b may have signalled it: drainit does by the last call, after 15 s
			}
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				tree, names, gots := crowdTree(tt.others)
				p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{grace}}, tree, strings.Join(names, " ")+" "+tt.ready)
				harness.Freeze(t, p.PidOf("job7"))
				want := append(gots, tt.gots...)
				p.Signal(unix.SIGTERM)
				for _, got := range want {
					p.WaitOut(`^` + got)
				}
				if tt.stays != "" {
					time.Sleep(1500 * time.Millisecond) // what is tested: no second signal, though drainit looks again
					harness.Kill(t, p.PidOf(tt.stays), unix.SIGKILL)
				}
				p.Wait()
				p.WantGots(want...)
				p.WantNothingLeft()
			})
		})
	}
}
