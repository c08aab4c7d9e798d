package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// wantPlainLog checks that each line of drainit's is text, alone on its line but
// for the key that the terminal itself has shown before it, and that there is a
// line for each pattern, in this order.
func (c *console) wantPlainLog(patterns ...string) {
	c.t.Helper()
	shown := c.out()
	if m := regexp.MustCompile(`[^\n\r\t -~]`).FindString(shown); m != "" {
		c.t.Errorf("the control character %q is shown", m)
	}
	var lines []string
	for line := range strings.Lines(shown) {
		if strings.Contains(line, "drainit") {
			lines = append(lines, line)
		}
	}
	plain := regexp.MustCompile(`^(\^[CZ\\])*drainit: [^\r]*\r\n$`)
	for n, line := range lines {
		switch {
		case !plain.MatchString(line):
			c.t.Errorf("not one plain line: %q", line)
		case n >= len(patterns):
			c.t.Errorf("one line too many: %q", line)
		case !regexp.MustCompile(patterns[n]).MatchString(line):
			c.t.Errorf("%q does not match %q", line, patterns[n])
		}
	}
	if len(lines) < len(patterns) {
		c.t.Errorf("%d lines of drainit's, want %d:\n%s", len(lines), len(patterns), shown)
	}
}

// alone starts drainit without a shell, so that what is shown is what it and its
// worker print.
func alone(t *testing.T, args ...string) *console {
	t.Helper()
	return atConsole(t, Launch{NoPID1: true, Args: args})
}

func TestTTYLogOfALifeOnATerminal(t *testing.T) {
	t.Parallel()
	c := alone(t, "--", workerBin, "listen", "-catch", "TSTP,CONT,INT,USR1", "-end", "USR1")
	worker := c.ready()
	c.keys("\x1a")
	c.waitOut(`drainit: quiet.*\n`)
	c.signal(unix.SIGCONT)
	c.waitOut(`drainit: running.*\n`)
	c.keys("\x03")
	c.waitOut(`drainit: draining, 1 process left.*\n`) // 5 s later
	c.send(worker, unix.SIGUSR1)
	c.wantExit(0)
	c.wantPlainLog(`quiet: SIGTSTP to worker\[\d+\]`, `running again: SIGCONT to worker\[\d+\]`,
		`stopping: SIGINT sent to .*; what still runs after 30s is killed`, `draining, 1 process left \(worker\[\d+\]\), SIGKILL in 2\d(\.\d)?s`, `stopped after \d+\.\ds: `)
}

func TestTTYLogOfAForcedStopOnATerminal(t *testing.T) {
	t.Parallel()
	c := alone(t, "--", workerBin, "listen", "-catch", "INT", "-end", "INT", "-drain", "1h")
	c.ready()
	c.keys("\x03")
	c.waitOut(`drainit: stopping.*\n`)
	pastTheSameRequest()
	c.keys("\x03")
	c.wantExit(137)
	c.wantPlainLog(`stopping: SIGINT sent to .*; what still runs after 30s is killed`, `warning: second stop signal, force-stop: killing worker`, `stopped after `)
}

// A name that moves the cursor does not do so.
func TestTTYLogOfAHostileNameOnATerminal(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "\x1b[2J\r\n\u009b\x07")
	if err := os.Symlink(workerBin, name); err != nil {
		t.Fatal(err)
	}
	c := alone(t, "-v", "--", name, "listen", "-catch", "INT,USR1", "-end", "USR1")
	worker := c.ready()
	c.keys("\x03")
	c.waitOut(`drainit: draining, 1 process left.*\n`) // 5 s later
	c.send(worker, unix.SIGUSR1)
	c.wantExit(0)
	c.wantPlainLog(`settings`, `started`, `sent SIGINT to `, `stopping: SIGINT sent to .*; what still runs after 30s is killed`, `draining, 1 process left`, `stopped after `)
}

func TestTTYNothingIsLoggedOfAWorkerThatEndsByItselfOnATerminal(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"true", "exit 3", "read x", "stty -echo; stty echo", "kill -INT $$", "kill -PIPE $$", "kill -HUP $$", "kill -USR1 $$"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			c := alone(t, "--", "sh", "-c", command)
			if command == "read x" {
				c.enter("abc")
			}
			c.wait()
			// INT and PIPE are how programs end at a terminal.
			if name := strings.TrimPrefix(command, "kill -"); name == "HUP $$" || name == "USR1 $$" {
				c.wantPlainLog(`was killed by SIG(HUP|USR1), which drainit did not send`)
			} else {
				c.wantPlainLog()
			}
		})
	}
}

// The terminal is the worker's, a person works in it, and the screen may be an
// editor's: what can wait is not written over it.
func TestTTYShellThatHasTheTerminalIsNotWarnedOf(t *testing.T) {
	need(t, "bash")
	t.Parallel()
	const afterTheLook = "11" // drainit looks at the worker 10 s after the start
	c := alone(t, "--", "env", "PS1=inner% ", "TERM=dumb", "bash", "--norc", "-i")
	c.see(`inner% `)
	c.enter("sleep " + afterTheLook + "; echo mark$((1+1))")
	c.see(`mark2`)
	c.see(`inner% `)
	c.enter("exit 5")
	c.wantExit(5)
	c.wantPlainLog()
}
