package test

import (
	"strings"
	"testing"
	"time"
)

// What is not read must not keep a container that can't start from ending.
func TestMistakeThatIsNotReadEndsDrainit(t *testing.T) {
	for _, args := range []string{"--grace=soon true", "--nope", "", "-g -c true", "status --bogus", "status now", "stop now"} {
		t.Run(args, func(t *testing.T) {
			waitingModes(t, func(t *testing.T, noPID1 bool) {
				for name, how := range badStderr {
					if strings.HasPrefix(args, "st") && name == "a broken pipe" {
						continue // a verb dies of SIGPIPE, as any program that is asked
					}
					l := how(t)
					l.NoPID1, l.Args = noPID1, strings.Fields(args)
					began := time.Now()
					p := launch(t, l)
					if got := p.wait(); got != 125 {
						t.Errorf("stderr is %s: exit status %d, want 125", name, got)
					}
					wantTook(t, began, 0, atOnce)
				}
			})
		})
	}
}

// A verb has found what it says by then.
func TestAnswerThatIsNotReadEndsAVerb(t *testing.T) {
	t.Parallel()
	needAsk(t)
	p := start(t, longGrace, "--", workerBin, "listen", "-drain", "1h")
	p.waitOut(`^ready`)
	p.waitTitle("drainit:run")
	command := p.entering(0, "")
	asker := launch(t, Launch{NoPID1: true, Bin: pathOf(t, command[0]), Args: append(command[1:], drainitBin, "resume", "--pid", "2"), Stderr: fullPipe(t)})
	asker.wantExit(125)
}
