package test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// spawner starts one child after the other. dash, as posix_spawn(3) and
// Python's subprocess, has every signal blocked while it does: for a moment it
// looks like one that waits for them all by sigwait, and is not.
const spawner = `echo ready; while :; do /bin/true; done`

func TestQuietDoesNotTakeASpawningWorkerForOneThatWaitsForTstp(t *testing.T) {
	bothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		need(t, "dash")
		p := launch(t, onTerminal(t, Launch{NoPID1: noPID1, Args: []string{"--", "dash", "-c", spawner}}))
		p.waitOut(`^ready`)
		for n := range 50 {
			p.signal(unix.SIGTSTP)
			waitUntil(t, "a line for each TSTP", func() bool { return strings.Count(p.err(), `"msg":"quiet`) > n })
		}
		p.wantNotStopped()
		p.signal(unix.SIGTERM)
		p.wantExit(143)
		if n := strings.Count(p.err(), "quiet: SIGTSTP to"); n > 0 {
			t.Errorf("TSTP was sent %d times to one that does not catch it, which stopped %d times",
				n, strings.Count(p.err(), "stopped itself"))
		}
	})
}

func TestSignalPassesASpawningShellThatDoesNotCatchIt(t *testing.T) {
	bothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		need(t, "dash")
		p := launch(t, Launch{NoPID1: noPID1, Args: []string{"--", "dash", "-c",
			`"$0" listen -catch USR1 & ` + spawner, workerBin}})
		p.waitOut(`^ready$`)
		p.waitOut(`^ready \d`)
		for n := range 50 {
			p.signal(unix.SIGUSR1)
			waitUntil(t, "USR1 to the one that catches it", func() bool { return !p.running() || len(gots(p.out())) > n })
		}
		p.signal(unix.SIGTERM)
		p.wantExit(143)
	})
}
