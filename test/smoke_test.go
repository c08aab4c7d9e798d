package test

import (
	"strings"
	"syscall"
	"testing"
)

func TestWorkerIsSignalledOnceAndDrains(t *testing.T) {
	bothModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: []string{"--", workerBin, "listen", "-drain", "300ms", "-exit", "7"}})
		p.waitOut(`^ready`)
		p.signal(syscall.SIGTERM)
		p.waitOut(`^drained`)
		p.wantExit(7)
		p.wantNothingLeft()
		if !strings.HasSuffix(p.out(), "\ngot SIGTERM\ndrained\n") {
			t.Errorf("the worker printed %q", p.out())
		}
	})
}
