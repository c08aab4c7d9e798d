package test

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// From the hand-over on Ctrl-Z stops the worker, and drainit has to follow.
func TestTTYCtrlZOfAWorkerThatHasTheTerminal(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atShell(t)
		shell := c.foreground()
		c.enter(under + `sh -c 'read x; echo x is $x, ready $$; read y; echo y is $y; exit 3'`)
		c.enter("abc")
		worker := c.ready()
		for range 3 {
			c.keys("\x1a")
			c.wantStopped()
			c.waitForeground(shell)
			c.fg()
			c.waitForeground(taskOf(worker).group)
		}
		c.enter("def")
		c.see(`y is def`)
		c.wantPrompt(3)
		c.wantShown(`drainit: `, 0)
	})
}

// After bg it reads from the background, and stops again.
func TestTTYCtrlZAndBgOfAWorkerThatReads(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atShell(t)
		c.enter(under + `sh -c 'read x; echo x is $x, ready $$; read y; echo y is $y; exit 3'`)
		c.enter("abc")
		worker := c.ready()
		c.keys("\x1a")
		c.wantStopped()
		c.enter("bg")
		c.wantPrompt(0)
		c.waitState(worker, "T")
		c.waitStates("T")
		c.showStopped()
		c.fg()
		c.waitForeground(taskOf(worker).group)
		c.enter("def")
		c.see(`y is def`)
		c.wantPrompt(3)
	})
}

// suspends are programs that stop in ways of their own: each is stopped by its
// keys, and is in order again after fg.
var suspends = map[string]struct {
	command string
	first   string // is shown when it runs
	keys    string // stop it
	again   func(c *console)
	status  int
}{
	"less": {"less lines", `7mlines`, "\x1a", func(c *console) {
		c.keys("G")
		c.see(`\(END\)`)
		c.keys("q")
	}, 0},
	"top": {topInside, `load average`, "\x1a", func(c *console) {
		c.see(`load average`)
		c.keys("q")
	}, 0},
	"bash": {bashInside, `inner% `, "suspend\r", func(c *console) {
		c.enter("echo is$((40+2))")
		c.see(`is42`)
		c.enter("exit 5")
	}, 5},
	"python": {"python3 -q", `>>> `, "\x1a", func(c *console) {
		c.enter("print('is%d' % (40+2))")
		c.see(`is42`)
		c.enter("exit(6)")
	}, 6},
	"node": {"node", `> `, "\x1a", func(c *console) {
		c.enter("console.log('is' + (40+2))")
		c.see(`is42`)
		c.enter("process.exit(6)")
	}, 6},
}

// suspend types what stops a program, and Ctrl-Z again where it got lost: less
// misses the one that comes right before it reads, and a shell ignores it.
func (c *console) suspend(keys string) {
	c.t.Helper()
	again := time.Now()
	c.waitUntil("Stopped", func() bool {
		if time.Now().After(again) {
			c.keys(keys)
			keys, again = "\x1a", time.Now().Add(5*time.Second)
		}
		return strings.Contains(c.shown()[c.passed:], "Stopped")
	})
	c.see(`Stopped`)
}

func TestTTYProgramsThatSuspendThemselves(t *testing.T) {
	t.Parallel()
	for name, s := range suspends {
		t.Run(name, func(t *testing.T) {
			need(t, "bash", "less", "top", "python3", "node")
			beside(t, func(t *testing.T, under string) {
				c := atShell(t)
				shell := c.foreground()
				c.enter(under + s.command)
				c.see(s.first)
				for range 2 {
					c.suspend(s.keys)
					c.prompt()
					c.waitForeground(shell)
					c.waitStates("T")
					c.fg()
				}
				s.again(c)
				c.wantPrompt(s.status)
				c.wantShown(`drainit: `, 0)
			})
		})
	}
}

func TestTTYViIsSuspended(t *testing.T) {
	need(t, "vi")
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atShell(t)
		editInVi(c, under, func() {
			for range 2 {
				c.see(`the first line`)
				c.keys(":stop\r")
				c.wantStopped()
				c.fg()
			}
		})
	})
}

// The shell waits for the script, which has to stop too: the key reaches it only
// where the worker does not have the terminal.
func TestTTYCtrlZStopsTheScriptAroundDrainit(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"inner", "outer"} {
		for name, read := range map[string]string{"does not read": "", "reads": "read x; "} {
			t.Run(script+" "+name, func(t *testing.T) {
				beside(t, func(t *testing.T, under string) {
					c := atShell(t)
					dir := t.TempDir()
					inner := writeProgram(t, dir, "inner", 0o755,
						"#!/bin/sh\n"+under+"sh -c '"+read+"exec worker listen -catch USR1 -end USR1'\necho after; exit 9\n")
					writeProgram(t, dir, "outer", 0o755, "#!/bin/sh\n"+inner+"\nexit $?\n")
					c.enter(dir + "/" + script)
					if read != "" {
						c.enter("abc")
					}
					worker := c.ready()
					for range 3 {
						c.keys("\x1a")
						c.wantStopped()
						c.fg()
					}
					c.send(worker, unix.SIGUSR1)
					c.see(`^after`)
					c.wantPrompt(9)
				})
			})
		}
	}
}
