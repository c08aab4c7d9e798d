package terminal

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/console"
)

// programs read the terminal or set its modes: what a person does with them, from the command line to
// the exit status. Some stop by keys of their own, and are in order again after fg.
var programs = map[string]struct {
	command string
	first   string // is shown when it runs
	keys    string // stop it
	talk    func(c *console.Console)
	status  int
}{
	"cat": {catReady, `ready \d+\r\n`, "\x1a",
		func(c *console.Console) { typeToCat(c, "abc"); c.Keys("\x04") }, 0},
	"bash":   {bashInside, `inner% `, "suspend\r", inShell, 5},
	"dash":   {dashInside, `inner% `, "", inShell, 5},
	"python": {"python3 -q", `>>> `, "\x1a", inPython, 6},
	"node":   {"node", `> `, "\x1a", inNode, 6},
	"less":   {"less lines", `7mlines`, "\x1a", inPager, 0},
	"vi":     {"vi lines", `some text`, ":stop\r", func(c *console.Console) { c.Keys(":q\r") }, 0},
	"top": {topInside, `load average`, "\x1a",
		func(c *console.Console) { c.See(`load average`); c.Keys("q") }, 0},
}

// bashInside and dashInside are interactive shells with job control, whose prompt
// is not what is typed to start them.
const (
	bashInside = `env PS1=inner%\  bash --norc --noprofile -i`
	dashInside = `env PS1=inner%\  dash -i`
)

// topInside is top as it has to be started in the background.
const topInside = `sh -c 'stty echo; exec top'`

// catReady is cat, with a line that says when it will read.
const catReady = `sh -c 'echo ready $$; exec cat'`

// typeToCat enters a line and sees the echo of the terminal, and what cat makes of it.
func typeToCat(c *console.Console, line string) {
	c.T.Helper()
	c.Enter(line)
	c.See(line + `\r\n` + line + `\r\n`)
}

// enterY enters the line that a "read y; echo y is $y" waits for.
func enterY(c *console.Console) {
	c.T.Helper()
	c.Enter("def")
	c.See(`y is def`)
}

// inShell uses an interactive shell: it runs a job, which Ctrl-C interrupts and
// Ctrl-Z stops, and the shell is none the worse.
func inShell(c *console.Console) {
	c.Enter("echo is$((40+2))")
	c.See(`is42`)
	c.See(`inner% `)
	startWorker(c, "worker listen -catch USR1")
	c.Keys("\x03")
	c.See(`inner% `)
	c.Enter("echo status$?")
	c.See(`status130`)
	c.See(`inner% `)
	cat := startWorker(c, catReady)
	typeToCat(c, "abc")
	c.Keys("\x1a")
	c.See(`Stopped`)
	c.See(`inner% `)
	c.Enter("fg")
	c.WaitForeground(harness.TaskOf(cat).Group)
	typeToCat(c, "def")
	c.Keys("\x04")
	c.See(`inner% `)
	c.Enter("exit 5")
}

func inPython(c *console.Console) {
	c.Enter("print('is%d' % (40+2))")
	c.See(`is42`)
	c.See(`>>> `)
	// One long sleep could miss a signal that comes right before it.
	c.Enter("import time; print('lo' + 'op', flush=True); all(time.sleep(0.01) is None for _ in " +
		"iter(int, 1))")
	c.See(`loop`)
	c.Keys("\x03")
	c.See(`KeyboardInterrupt`)
	c.See(`>>> `)
	c.Enter("exit(6)")
}

func inPager(c *console.Console) {
	c.Keys("G")
	c.See(`\(END\)`)
	c.Keys("q")
}

func inNode(c *console.Console) {
	c.Enter("console.log('is' + (40+2))")
	c.See(`is42`)
	c.See(`> `)
	c.Keys("\x03")
	c.See(`To exit`)
	c.See(`> `)
	c.Enter("process.exit(6)")
}

// suspend types what stops a program, and Ctrl-Z again where it got lost: less
// misses the one that comes right before it reads, and a shell ignores it.
func suspend(c *console.Console, keys string) {
	c.T.Helper()
	again := time.Now()
	harness.WaitUntil(c.T, "Stopped", func() bool {
		if time.Now().After(again) {
			c.Keys(keys)
			keys, again = "\x1a", time.Now().Add(5*time.Second)
		}
		return strings.Contains(c.Shown()[c.Passed:], "Stopped")
	})
	c.See(`Stopped`)
	c.Prompt()
	waitStates(c, "T")
}

func TestTTYProgramsThatUseTheTerminalFindNoDifference(t *testing.T) {
	t.Parallel()
	for name, w := range programs {
		t.Run(name, func(t *testing.T) {
			harness.Need(t, "bash", "dash", "python3", "node", "less", "top", "vi")
			console.Beside(t, func(t *testing.T, under string) {
				talkAtShell(t, under+w.command, func(c *console.Console) {
					c.See(w.first)
					for range 2 {
						if w.keys != "" {
							suspend(c, w.keys)
							fg(c)
						}
					}
					w.talk(c)
				}, w.status)
			})
		})
	}
}

// talkAtShell has a person run something, which must leave the terminal as it was,
// without a word of drainit's.
func talkAtShell(t *testing.T, line string, talk func(c *console.Console), status int) {
	t.Helper()
	c := console.AtShell(t)
	shell, modes := c.Foreground(), c.Modes()
	c.Enter(line)
	talk(c)
	c.WantPrompt(status)
	c.WantForeground(shell)
	c.WantModes(modes)
	c.WantShown(`drainit: `, 0)
}

// With drainit as the session's leader, as ssh -t starts it, and as PID 1.
func TestTTYProgramsThatUseTheTerminalWithoutAShellAboveThem(t *testing.T) {
	harness.Need(t, "bash", "dash", "python3", "node", "less", "top", "vi")
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		for name, w := range programs {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := console.At(t, harness.Launch{NoPID1: noPID1,
					Args: []string{"--", "sh", "-c", "exec " + w.command}})
				c.See(w.first)
				w.talk(c)
				c.WantExit(w.status)
				c.WantNothingLeft()
			})
		}
	})
}

// From the hand-over on Ctrl-C is for the worker's group and not for drainit, so
// that it neither drains nor kills.
func TestTTYCtrlCIsTheWorkersOwnOnceItHasTheTerminal(t *testing.T) {
	t.Parallel()
	console.BesideAtShell(t, func(t *testing.T, c *console.Console, under string) {
		worker := startReader(c, under+`sh -c 'read x; exec worker listen -catch INT,USR1 -end USR1 -exit 4'`)
		if fg := c.Foreground(); fg != harness.TaskOf(worker).Group {
			t.Errorf("group %d has the terminal, want that of the worker %d", fg, worker)
		}
		for range 3 {
			c.Keys("\x03")
			c.See(`got SIGINT`)
		}
		harness.Kill(c.T, worker, unix.SIGUSR1)
		c.WantPrompt(4)
		c.WantShown(`got SIGINT`, 3)
		c.WantShown(`drainit: `, 0)
	})
}

// A worker that ends gives the terminal back though what it left is draining:
// Ctrl-C is for drainit again, the first the stop and the second the kill.
func TestTTYTerminalIsTakenBackFromAWorkerThatLeavesOthers(t *testing.T) {
	t.Parallel()
	c := console.AtShell(t)
	left := startReader(c,
		`drainit -- sh -c 'read x; worker listen -catch TERM,INT -drain 1h & read y; exit 3'`)
	c.Enter("def")
	c.WaitOut(`drainit: warning: .* exited with status 3 and left`)
	harness.WaitUntil(c.T, "drainit has the terminal",
		func() bool { return c.Foreground() == harness.TaskOf(c.Above(left)).Group })
	c.Keys("\x03")
	c.See(`drainit: SIGINT: the grace period starts now`)
	harness.PastTheSameRequest()
	c.Keys("\x03")
	c.See(`force-stop: killing worker`)
	c.WantPrompt(3)
}
