package signals

import (
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// The group gets each signal once, as by kill(-pgid). What has left it is a leftover when the worker
// has gone, and signalled then, if the worker can't have signalled it before.
func TestGroupModeSignalsTheWorkersGroupOnce(t *testing.T) {
	forEach(t, []string{"-g", "--forward=group"}, func(t *testing.T, flag string, noPID1 bool) {
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{flag, harness.LongGrace}},
			"a[USR1](b[USR1,TERM](c[USR1]) d[-USR1] e[pgrp,USR1,TERM=0](f[USR1]))", "a b c d e f")
		b := p.PidOf("b")
		p.Signal(unix.SIGUSR1)
		for _, name := range []string{"a", "b", "c"} {
			p.WaitOut(`^` + name + ` got USR1`)
		}
		passTo(p, unix.SIGTERM, "b")
		p.WaitOut(`^e got TERM`)
		harness.Kill(t, b, unix.SIGKILL)
		p.WantExit(143)
		p.WantGots("a got USR1", "b got USR1", "c got USR1", "b got TERM", "e got TERM")
	})
}

// drainit ends with its worker, whose leftovers are sent nothing before they are killed.
func TestWorkerModeGivesSignalsToTheWorkerAlone(t *testing.T) {
	forEach(t, []string{"-c", "--forward=worker"}, func(t *testing.T, flag string, noPID1 bool) {
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{flag, harness.LongGrace}},
			"a[USR1,CONT,TERM=7](b[USR1,CONT,TERM,HUP] c)", "a b c")
		passTo(p, unix.SIGUSR1, "a")
		passTo(p, unix.SIGCONT, "a")
		wantStop(p, 7, "a got USR1", "a got CONT", "a got TERM")
		p.WantNothingLeft()
		p.WantLogged(harness.KillLine, 1)
	})
}
