// Package terminal tests a worker on a terminal: Ctrl-C, Ctrl-Z, jobs, and the terminal's modes.
package terminal

import (
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/console"
)

// wantPlainLog checks that each line of drainit's is text, alone on its line but
// for the key that the terminal itself has shown before it, and that there is a
// line for each pattern, in this order. On a busy machine what is not asked for may take more
// than 5 s, and have lines of progress.
func wantPlainLog(c *console.Console, patterns ...string) {
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
func alone(t *testing.T, args ...string) *console.Console {
	t.Helper()
	return console.At(t, harness.Launch{NoPID1: true, Args: args})
}

// With TOSTOP the kernel stops a process that writes from the background, unless no process
// could continue it: so there is a shell above drainit here.
func TestTTYLogLineReachesATerminalWithTostop(t *testing.T) {
	harness.Need(t, "stty")
	t.Parallel()
	c := inScript(t, `drainit -- sh -c 'stty tostop; exec worker listen -drain 1s'; true`)
	harness.Kill(c.T, c.Above(c.Ready()), unix.SIGTERM)
	c.WaitOut(`drainit: stopping(?s:.*)drained`) // and not only when the terminal is drainit's again
	c.WantExit(0)
}

func TestTTYNothingIsLoggedOfAWorkerThatEndsByItselfOnATerminal(t *testing.T) {
	harness.Usual(t)
	t.Parallel()
	for _, command := range []string{"exit 3", "stty -echo; stty echo", "kill -INT $$", "kill -PIPE $$",
		"kill -HUP $$", "kill -USR1 $$"} {
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

func TestMain(m *testing.M) { harness.Main(m) }

// inScript runs command lines in a non-interactive shell that leads the session:
// it puts neither the modes right nor the foreground, as bash at its prompt does.
func inScript(t *testing.T, text string) *console.Console {
	t.Helper()
	return console.At(t, harness.Launch{Bin: "/bin/sh", NoPID1: true, Args: []string{"-c", text}})
}

// isRaw reports whether keys come one by one and are not shown.
func isRaw(modes unix.Termios) bool { return modes.Lflag&(unix.ICANON|unix.ECHO) == 0 }

func TestTTYModesAreRestoredWhereTheWorkerDiesOfASignal(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		worker string
		stop   bool
		status string
	}{
		"SIGKILL":           {"kill -KILL $$", false, "137"},
		"SIGTERM":           {"kill -TERM $$", false, "143"},
		"killed by drainit": {"exec worker listen -drain 1h", true, "137"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := inScript(t, `echo begin; read x; drainit --grace 300ms -- sh -c 'stty raw -echo; `+tt.worker+
				`'; echo status $?; read y; echo y is $y`)
			c.See(`begin`)
			modes := c.Modes()
			c.Enter("abc")
			if tt.stop {
				worker := c.Ready()
				if !isRaw(c.Modes()) {
					t.Fatal("the worker did not set the modes")
				}
				harness.Kill(c.T, c.Above(worker), unix.SIGTERM)
			}
			c.See(`status ` + tt.status)
			c.WantModes(modes)
			enterY(c)
			c.WantExit(0)
		})
	}
}

// What a killed worker leaves may drain for long: the person at the terminal gets the modes
// back with the terminal, and not when that has ended.
func TestTTYModesAreRestoredBeforeTheLeftoversEnd(t *testing.T) {
	harness.Usual(t)
	t.Parallel()
	c := inScript(t, `echo begin; read x
		drainit --grace 25s -- sh -c 'worker listen -drain 1h & stty raw -echo; read y; kill -KILL $$'
		echo status $?`)
	c.See(`begin`)
	modes := c.Modes()
	c.Enter("abc")
	leftover := c.Ready()
	harness.WaitUntil(c.T, "the worker has set the modes", func() bool { return isRaw(c.Modes()) })
	c.Keys("go\n")
	c.WaitOut(`drainit: warning: sh\[\d+\] died of SIGKILL and left`)
	harness.WaitUntil(c.T, "the modes are back", func() bool { return c.Modes() == modes })
	if harness.StateOf(leftover) == 0 {
		t.Error("the modes came back with the end of what the worker had left")
	}
	harness.Kill(c.T, leftover, unix.SIGKILL)
	c.See(`status 137`)
	c.WantExit(0)
}

// The last words of a worker that ends by itself are its own: so stty works.
func TestTTYModesAreLeftAloneWhereTheWorkerExits(t *testing.T) {
	harness.Usual(t)
	t.Parallel()
	for name, command := range map[string]string{
		"by itself":      `stty raw -echo`,
		"as if a signal": `sh -c 'stty raw -echo; exit 137'`,
		"in a drain": `sh -c 'trap "exit 3" TERM; stty raw -echo; kill $PPID; while :; do sleep ` +
			`0.02; done'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := inScript(t, "drainit -- "+command+"; echo ended; read x")
			c.See(`ended`)
			if !isRaw(c.Modes()) {
				t.Errorf("the modes are %+v, want raw and no echo", c.Modes())
			}
		})
	}
}

// In the background the modes are another's.
func TestTTYModesAreLeftAloneFromTheBackground(t *testing.T) {
	t.Parallel()
	c := console.AtShell(t)
	worker := startWorker(c, "drainit -- worker listen &")
	c.Enter("stty -echo -icrnl; echo set")
	c.See(`^set`)
	c.Prompt()
	modes := c.Modes()
	harness.Kill(c.T, worker, unix.SIGKILL)
	c.Keys("wait $!\n")
	c.WantPrompt(137)
	c.WantModes(modes)
}

// A shell that edits its line has modes of its own, which are not the ones that
// a job finds once it is in the foreground.
func TestTTYModesOfAJobFromTheBackgroundAreThoseItFinds(t *testing.T) {
	harness.Need(t, "bash")
	t.Parallel()
	c := console.At(t, harness.Launch{Bin: "/bin/bash", NoPID1: true,
		Args: []string{"--norc", "--noprofile", "-i"}})
	c.WantPrompt(0)
	c.Enter(`drainit -- sh -c 'echo ready $$; stty raw -echo; kill -9 $$' &`)
	c.WaitOut(`ready \d`)
	waitStates(c, "T")
	c.Prompt()
	c.ShowJobs(0, `Stopped`)
	c.Enter("fg")
	c.WantPrompt(137)
	c.Enter("stty -a")
	c.See(`[^-]icanon`)
	c.See(`[^-]echo `)
	c.Prompt()
}
