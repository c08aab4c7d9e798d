package tree

import (
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// With -c drainit ends when its worker does, as tini, catatonit and dumb-init -c do: with the
// worker's status, at once, and nothing that it leaves outlives it, though it ignores TERM.
func TestWorkerModeEndsWithTheWorker(t *testing.T) {
	harness.Need(t, "perl")
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
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				stdin, exit := harness.Pipe(t)
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Stdin: stdin, Args: harness.Line([]string{"-c", harness.LongGrace}, harness.Script(leaves+tt.worker)...)})
				p.WaitOut(`^child ready`)
				if tt.term {
					p.WaitOut(`^ready`)
					p.Signal(unix.SIGTERM)
				} else {
					exit.Close()
				}
				p.WantExit(tt.status)
				p.WantNothingLeft()
			})
		})
	}
}
