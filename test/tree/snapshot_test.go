package tree

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"drainit/test/harness"
)

// What was there before the stop waits for a worker that is not to be seen.
func TestHiddenWorkerIsSignalledOnceAndWaitedFor(t *testing.T) {
	t.Parallel()
	harness.Need(t, "sh")
	// Another user may run it, and not read it: /proc hides it from whoever does so.
	hidden := harness.WriteProgram(t, filepath.Dir(harness.WorkerBin), "hidden", 0o711, harness.TextOf(t, harness.WorkerBin))
	p := harness.Hiding(t, []string{harness.LongGrace}, "sh", "-c", `("$0" listen -name "daemon " &); exec "$1" listen -drain 1500ms -exit 6`, harness.WorkerBin, hidden)
	p.WaitOut(`^ready`)
	p.WaitOut(`^daemon ready`)
	p.Signal(syscall.SIGTERM)
	p.WantExit(6)
	p.WantCount("got SIGTERM", 1)
	p.WantCount("daemon got SIGTERM", 1)
	if out := p.Out(); strings.Index(out, "\ndrained") > strings.Index(out, "daemon got") {
		t.Errorf("the daemon was signalled before the worker had gone:\n%s", out)
	}
	p.WantNothingLeft()
}

// Many jobs in the group of a worker that dies of the signal get it once, and so does one in
// a group of its own, though one of them is stopped.
func TestEachJobOfACrowdIsSignalledOnce(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		jobs, ready, want := "", "a b", []string{"b got TERM"}
		for i := range 40 {
			name := fmt.Sprintf("job%d", i)
			jobs, ready, want = jobs+name+"[TERM=0] ", ready+" "+name, append(want, name+" got TERM")
		}
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{harness.LongGrace}}, "a("+jobs+"b[TERM=0,pgrp])", ready)
		harness.Freeze(t, p.PidOf("job7"))
		p.Signal(syscall.SIGTERM)
		p.Wait()
		p.WantGots(want...)
		p.WantNothingLeft()
	})
}
