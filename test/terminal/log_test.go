package terminal

import (
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// wantPlainLog checks that each line of drainit's is text, alone on its line but
// for the key that the terminal itself has shown before it, and that there is a
// line for each pattern, in this order. On a busy machine what is not asked for may take more
// than 5 s, and have lines of progress.
func wantPlainLog(c *harness.Console, patterns ...string) {
	c.T.Helper()
	shown := c.Out()
	if m := regexp.MustCompile(`[^\n\r\t -~]`).FindString(shown); m != "" {
		c.T.Errorf("the control character %q is shown", m)
	}
	want := ""
	for _, pattern := range patterns {
		want += `(\^[CZ\\])*drainit: [^\r\n]*` + pattern + `[^\r\n]*\r\n`
	}
	var lines strings.Builder
	for line := range strings.Lines(shown) {
		if strings.Contains(line, "drainit") && !strings.Contains(line, "drainit: draining, ") {
			lines.WriteString(line)
		}
	}
	if !regexp.MustCompile(`\A` + want + `\z`).MatchString(lines.String()) {
		c.T.Errorf("drainit's lines are\n%s\nwant %q:\n%s", lines.String(), patterns, shown)
	}
}

// alone starts drainit without a shell, so that what is shown is what it and its
// worker print.
func alone(t *testing.T, args ...string) *harness.Console {
	t.Helper()
	return harness.AtConsole(t, harness.Launch{NoPID1: true, Args: args})
}

func TestTTYLogOfALifeOnATerminal(t *testing.T) {
	t.Parallel()
	c := alone(t, "--", harness.WorkerBin, "listen", "-catch", "TSTP,CONT,INT,USR1", "-end", "USR1")
	worker := c.Ready()
	c.Keys("\x1a")
	c.WaitOut(`drainit: quiet.*\n`)
	c.Signal(unix.SIGCONT)
	c.WaitOut(`drainit: running.*\n`)
	c.Keys("\x03")
	c.WaitOut(`drainit: stopping.*\n`)
	c.Send(worker, unix.SIGUSR1)
	c.WantExit(0)
	wantPlainLog(c, `quiet: SIGTSTP to worker\[\d+\]`, `running again: SIGCONT to worker\[\d+\]`,
		`stopping: SIGINT sent to .*; what still runs after 35s is killed`, `stopped after \d+(\.\d)?s: `)
}

// With TOSTOP the kernel stops a process that writes from the background, unless no process
// could continue it: so there is a shell above drainit here.
func TestTTYLogLineReachesATerminalWithTostop(t *testing.T) {
	harness.Need(t, "stty")
	t.Parallel()
	c := inScript(t, `drainit -- sh -c 'stty tostop; exec worker listen -drain 1s'; true`)
	c.Send(c.Above(c.Ready()), unix.SIGTERM)
	c.WaitOut(`drainit: stopping(?s:.*)drained`) // and not only when the terminal is drainit's again
	c.WantExit(0)
}

func TestTTYNothingIsLoggedOfAWorkerThatEndsByItselfOnATerminal(t *testing.T) {
	harness.Usual(t)
	t.Parallel()
	for _, command := range []string{"exit 3", "stty -echo; stty echo", "kill -INT $$", "kill -PIPE $$", "kill -HUP $$", "kill -USR1 $$"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			c := alone(t, "--", "sh", "-c", command)
			c.Wait()
			// INT and PIPE are how programs end at a terminal.
			if name := strings.TrimPrefix(command, "kill -"); name == "HUP $$" || name == "USR1 $$" {
				wantPlainLog(c, `was killed by SIG(HUP|USR1), which drainit did not send`)
			} else {
				wantPlainLog(c)
			}
		})
	}
}

// The terminal is the worker's, a person works in it, and the screen may be an
// editor's: what can wait is not written over it.
func TestTTYShellThatHasTheTerminalIsNotWarnedOf(t *testing.T) {
	harness.Full(t)
	harness.Need(t, "bash")
	t.Parallel()
	const afterTheLook = "11" // drainit looks at the worker 10 s after the start
	c := alone(t, "--", "env", "PS1=inner% ", "TERM=dumb", "bash", "--norc", "-i")
	c.See(`inner% `)
	c.Enter("sleep " + afterTheLook + "; echo mark$((1+1))")
	c.See(`mark2`)
	c.See(`inner% `)
	c.Enter("exit 5")
	c.WantExit(5)
	wantPlainLog(c)
}
