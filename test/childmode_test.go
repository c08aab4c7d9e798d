package test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// With -c drainit ends when its worker does, as tini, catatonit and dumb-init -c do: with the
// worker's status, at once, and nothing that it leaves outlives it, though it ignores TERM.
func TestWorkerModeEndsWithTheWorker(t *testing.T) {
	need(t, "perl")
	const leaves = `spawn { $name = "child"; $SIG{TERM} = "IGNORE"; POSIX::setsid(); say "child ready"; forever }; `
	for name, tt := range map[string]struct {
		worker string
		term   bool
		status int
	}{
		"which exits with 0":         {`hold 0; exit 0`, false, 0},
		"which exits with 5":         {`hold 0; exit 5`, false, 5},
		"which exits with 3 on TERM": {`catch "TERM"; say "ready"; await "TERM"; exit 3`, true, 3},
		"which dies of TERM":         {`say "ready"; forever`, true, 143},
	} {
		t.Run(name, func(t *testing.T) {
			waitingModes(t, func(t *testing.T, noPID1 bool) {
				stdin, exit := pipe(t)
				p := launch(t, Launch{NoPID1: noPID1, Stdin: stdin, Args: line([]string{"-c", "--grace=20s"}, script(leaves+tt.worker)...)})
				p.waitOut(`^child ready`)
				if tt.term {
					p.waitOut(`^ready`)
					p.signal(unix.SIGTERM)
				} else {
					exit.Close()
				}
				began := time.Now()
				p.wantExit(tt.status)
				wantTook(t, began, 0, 2*time.Second)
				p.wantNothingLeft()
			})
		})
	}
}
