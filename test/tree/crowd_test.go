package tree

import (
	"fmt"
	"strings"
	"testing"

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
	}{
		{"all alike", "", "", nil},
		{"one in a group of its own", "b[TERM=0,pgrp]", "b", []string{"b got TERM"}},
		{"one that handles it for what is below it", "b[TERM=0](c[TERM])", "b c", []string{"b got TERM", "c got TERM"}},
		{"one that ignores it", "b[-TERM]", "b", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				tree, names, gots := crowdTree(tt.others)
				p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{"--grace=2s"}}, tree, strings.Join(names, " ")+" "+tt.ready)
				harness.Freeze(t, p.PidOf("job7"))
				p.Signal(unix.SIGTERM)
				p.Wait()
				p.WantGots(append(gots, tt.gots...)...)
				p.WantNothingLeft()
			})
		})
	}
}
