package tree

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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

// As PID 1 that is one call, and no descriptor for each.
func TestOneCallSignalsACrowd(t *testing.T) {
	harness.Need(t, "strace")
	tree, names, gots := crowdTree("")
	file := filepath.Join(t.TempDir(), "trace")
	p := harness.StartTree(t, harness.Launch{Trace: []string{"-f", "-e", "trace=kill,pidfd_send_signal", "-e", "signal=none", "-o", file}}, tree, strings.Join(names, " "))
	p.Signal(unix.SIGTERM)
	p.WantExit(143)
	p.WantGots(gots...)
	<-p.Tracer
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sent := regexp.MustCompile(`(kill|pidfd_send_signal)\([^)]*SIGTERM`).FindAllString(string(b), -1)
	if len(sent) != 2 || !regexp.MustCompile(`^kill\(\d+, `).MatchString(sent[0]) || !regexp.MustCompile(`^kill\(-\d+, `).MatchString(sent[1]) {
		t.Errorf("it sent %q, want one to the worker and one to its group", sent)
	}
}
