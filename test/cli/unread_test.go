package cli

import (
	"strings"
	"testing"

	"drainit/test/harness"
)

// What is not read must not keep a container that can't start from ending.
func TestMistakeThatIsNotReadEndsDrainit(t *testing.T) {
	harness.Usual(t)
	for _, args := range []string{"--grace=soon true", "--nope", "", "-g -c true", "status --bogus", "status now", "stop now"} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			verb := strings.HasPrefix(args, "st")
			for name, how := range harness.BadStderr {
				if verb && name == "a broken pipe" {
					continue // a verb dies of SIGPIPE, as any program that is asked
				}
				l := how(t)
				l.NoPID1, l.Args = verb, strings.Fields(args)
				if got := harness.Run(t, l).Wait(); got != 125 {
					t.Errorf("stderr is %s: exit status %d, want 125", name, got)
				}
			}
		})
	}
}

// A verb has found what it says by then.
func TestAnswerThatIsNotReadEndsAVerb(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := harness.Start(t, harness.LongGrace, "--", harness.WorkerBin, "listen", "-drain", "1h")
	p.WaitReady()
	command := p.Entering(0, "")
	asker := harness.Run(t, harness.Launch{NoPID1: true, Bin: harness.PathOf(t, command[0]), Args: append(command[1:], harness.DrainitBin, "resume", "--pid", "2"), Stderr: harness.FullPipe(t)})
	asker.WantExit(125)
}
