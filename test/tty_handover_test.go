package test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// talks are programs that read the terminal or set its modes, and what a person
// does with them, from the command line to the exit status.
var talks = map[string]struct {
	command string
	talk    func(c *console)
	status  int
}{
	"read": {`sh -c 'read x; echo it was $x; exit 3'`, func(c *console) {
		c.enter("abc")
		c.see(`^it was abc`)
	}, 3},
	"cat": {catReady, func(c *console) {
		c.ready()
		c.enter("abc")
		c.see(`abc\r\nabc\r\n`) // the echo, and cat's
		c.keys("\x04")
	}, 0},
	"stty":   {"stty -g", func(c *console) { c.see(`^[0-9a-f]+:`) }, 0},
	"bash":   {bashInside, inShell, 5},
	"dash":   {dashInside, inShell, 5},
	"python": {"python3 -q", inPython, 6},
	"node":   {"node", inNode, 6},
	"less": {"less lines", func(c *console) {
		c.see(`7mlines`)
		c.keys("G")
		c.see(`\(END\)`)
		c.keys("q")
	}, 0},
	"top": {topInside, func(c *console) {
		c.see(`load average`)
		c.keys("q")
	}, 0},
	"less of a pipe": {"sh -c 'seq 500 | less'", func(c *console) {
		c.see(`20`)
		c.keys("G")
		c.see(`\(END\)`)
		c.keys("q")
	}, 0},
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

// inShell uses an interactive shell: it runs a job, which Ctrl-C interrupts and
// Ctrl-Z stops, and the shell is none the worse.
func inShell(c *console) {
	c.see(`inner% `)
	c.enter("echo is$((40+2))")
	c.see(`is42`)
	c.see(`inner% `)
	c.enter("worker listen -catch USR1")
	c.ready()
	c.keys("\x03")
	c.see(`inner% `)
	c.enter("echo status$?")
	c.see(`status130`)
	c.see(`inner% `)
	c.enter(catReady)
	cat := c.ready()
	c.enter("abc")
	c.see(`abc\r\nabc\r\n`)
	c.keys("\x1a")
	c.see(`Stopped`)
	c.see(`inner% `)
	c.enter("fg")
	c.waitForeground(taskOf(cat).group)
	c.enter("def")
	c.see(`def\r\ndef\r\n`)
	c.keys("\x04")
	c.see(`inner% `)
	c.enter("exit 5")
}

func inPython(c *console) {
	c.see(`>>> `)
	c.enter("print('is%d' % (40+2))")
	c.see(`is42`)
	c.see(`>>> `)
	// One long sleep could miss a signal that comes right before it.
	c.enter("import time; print('lo' + 'op', flush=True); all(time.sleep(0.01) is None for _ in iter(int, 1))")
	c.see(`loop`)
	c.keys("\x03")
	c.see(`KeyboardInterrupt`)
	c.see(`>>> `)
	c.enter("exit(6)")
}

func inNode(c *console) {
	c.see(`> `)
	c.enter("console.log('is' + (40+2))")
	c.see(`is42`)
	c.see(`> `)
	c.keys("\x03")
	c.see(`To exit`)
	c.see(`> `)
	c.enter("process.exit(6)")
}

func TestTTYProgramsThatUseTheTerminalFindNoDifference(t *testing.T) {
	t.Parallel()
	for name, w := range talks {
		t.Run(name, func(t *testing.T) {
			need(t, "bash", "dash", "python3", "node", "less", "top")
			beside(t, func(t *testing.T, under string) {
				talkAtShell(t, under+w.command, w.talk, w.status)
			})
		})
	}
}

// talkAtShell has a person run something, which must leave the terminal as it was,
// without a word of drainit's.
func talkAtShell(t *testing.T, line string, talk func(c *console), status int) {
	t.Helper()
	c := atShell(t)
	shell, modes := c.foreground(), c.modes()
	c.enter(line)
	talk(c)
	c.wantPrompt(status)
	c.wantForeground(shell)
	c.wantModes(modes)
	c.wantShown(`drainit: `, 0)
}

// With drainit as the session's leader, as ssh -t starts it, and as PID 1.
func TestTTYProgramsThatUseTheTerminalWithoutAShellAboveThem(t *testing.T) {
	need(t, "bash", "dash", "python3", "node", "less", "top")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		for name, w := range talks {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := atConsole(t, Launch{NoPID1: noPID1, Args: []string{"--", "sh", "-c", "exec " + w.command}})
				w.talk(c)
				c.wantExit(w.status)
				c.wantNothingLeft()
			})
		}
	})
}

func TestTTYFileIsEditedInVi(t *testing.T) {
	need(t, "vi")
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atShell(t)
		modes := c.modes()
		editInVi(c, under, func() {})
		c.wantModes(modes)
	})
}

// editInVi adds a line to a file in vi, after a person has done something else there.
func editInVi(c *console, under string, before func()) {
	c.t.Helper()
	file := filepath.Join(c.t.TempDir(), "text")
	if err := os.WriteFile(file, []byte("the first line\n"), 0o644); err != nil {
		c.t.Fatal(err)
	}
	c.enter(under + "vi " + file)
	before()
	c.see(`the first line`)
	c.keys("osecond\x1b:wq\r")
	c.wantPrompt(0)
	b, err := os.ReadFile(file)
	if want := "the first line\nsecond\n"; err != nil || string(b) != want {
		c.t.Errorf("the file is %q, want %q: %v", b, want, err)
	}
}

// From the hand-over on Ctrl-C is for the worker's group and not for drainit, so
// that it neither drains nor kills.
func TestTTYCtrlCIsTheWorkersOwnOnceItHasTheTerminal(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atShell(t)
		c.enter(under + `sh -c 'read x; exec worker listen -catch INT,USR1 -end USR1 -exit 4'`)
		c.enter("abc")
		worker := c.ready()
		if fg := c.foreground(); fg != taskOf(worker).group {
			t.Errorf("group %d has the terminal, want that of the worker %d%s", fg, worker, c.processes())
		}
		for range 3 {
			c.keys("\x03")
			c.see(`got SIGINT`)
		}
		c.send(worker, unix.SIGUSR1)
		c.wantPrompt(4)
		c.wantShown(`got SIGINT`, 3)
		c.wantShown(`drainit: `, 0)
	})
}

// A worker that ends gives the terminal back though what it left is draining:
// Ctrl-C is for drainit again, the first the stop and the second the kill.
func TestTTYTerminalIsTakenBackFromAWorkerThatLeavesOthers(t *testing.T) {
	t.Parallel()
	c := atShell(t)
	c.enter(`drainit -- sh -c 'read x; worker listen -catch TERM,INT -drain 1h & read y; exit 3'`)
	c.enter("abc")
	left := c.ready()
	c.enter("def")
	c.waitOut(`drainit: warning: .* exited with status 3 and left`)
	c.waitUntil("drainit has the terminal", func() bool { return c.foreground() == taskOf(c.above(left)).group })
	c.keys("\x03")
	c.see(`drainit: SIGINT: the grace period starts now`)
	pastTheSameRequest()
	c.keys("\x03")
	c.see(`force-stop: killing worker`)
	c.wantPrompt(3)
}

// A program that handles TTOU itself and does not try again can't set its modes
// from the background: not after & and fg, and not under drainit.
func TestTTYTopCannotBeStartedInTheBackground(t *testing.T) {
	need(t, "bash", "top")
	t.Parallel()
	c := atShell(t)
	c.enter("top &")
	c.showJobs(`\[1\][-+] +Stopped`)
	c.enter("fg")
	c.see(`failed tty set`)
	c = atShell(t)
	c.enter("drainit -- top")
	c.see(`failed tty set`)
}
