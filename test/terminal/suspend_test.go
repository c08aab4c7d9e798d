package terminal

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// From the hand-over on Ctrl-Z stops the worker, and drainit has to follow.
func TestTTYCtrlZOfAWorkerThatHasTheTerminal(t *testing.T) {
	t.Parallel()
	harness.BesideAtShell(t, func(t *testing.T, c *harness.Console, under string) {
		shell := c.Foreground()
		worker := startReader(c, under+readsTwice)
		for range 3 {
			ctrlZ(c)
			c.WaitForeground(shell)
			fgTo(c, worker)
		}
		enterY(c)
		c.WantPrompt(3)
		c.WantShown(`drainit: `, 0)
	})
}

// A shell's fg of a job that bg has continued gives it the terminal, and sends no CONT.
func TestTTYCtrlZAfterBgAndFgOfAWorkerThatHasRead(t *testing.T) {
	t.Parallel()
	harness.BesideAtShell(t, func(t *testing.T, c *harness.Console, under string) {
		worker := startReader(c, under+`sh -c 'read x; echo x is $x, ready $$; exec sleep 1000'`)
		for range 2 {
			ctrlZ(c)
			c.Enter("bg")
			c.WantPrompt(0)
			c.WaitState(worker, "S") // bg has been acted upon
			fg(c)
		}
		ctrlZ(c)
		fg(c)
		c.Keys("\x03")
		c.WantPrompt(130)
		c.WantShown(`drainit: `, 0)
	})
}

// suspends are programs that stop in ways of their own: each is stopped by its
// keys, and is in order again after fg.
var suspends = map[string]struct {
	command string
	first   string // is shown when it runs
	keys    string // stop it
	again   func(c *harness.Console)
	status  int
}{
	"less": {"less lines", `7mlines`, "\x1a", func(c *harness.Console) {
		c.Keys("G")
		c.See(`\(END\)`)
		c.Keys("q")
	}, 0},
	"top": {topInside, `load average`, "\x1a", func(c *harness.Console) {
		c.See(`load average`)
		c.Keys("q")
	}, 0},
	"bash": {bashInside, `inner% `, "suspend\r", func(c *harness.Console) {
		c.Enter("echo is$((40+2))")
		c.See(`is42`)
		c.Enter("exit 5")
	}, 5},
	"python": {"python3 -q", `>>> `, "\x1a", func(c *harness.Console) {
		c.Enter("print('is%d' % (40+2))")
		c.See(`is42`)
		c.Enter("exit(6)")
	}, 6},
	"node": {"node", `> `, "\x1a", func(c *harness.Console) {
		c.Enter("console.log('is' + (40+2))")
		c.See(`is42`)
		c.Enter("process.exit(6)")
	}, 6},
}

// suspend types what stops a program, and Ctrl-Z again where it got lost: less
// misses the one that comes right before it reads, and a shell ignores it.
func suspend(c *harness.Console, keys string) {
	c.T.Helper()
	again := time.Now()
	c.WaitUntil("Stopped", func() bool {
		if time.Now().After(again) {
			c.Keys(keys)
			keys, again = "\x1a", time.Now().Add(5*time.Second)
		}
		return strings.Contains(c.Shown()[c.Passed:], "Stopped")
	})
	c.See(`Stopped`)
}

func TestTTYProgramsThatSuspendThemselves(t *testing.T) {
	t.Parallel()
	for name, s := range suspends {
		t.Run(name, func(t *testing.T) {
			harness.Need(t, "bash", "less", "top", "python3", "node")
			harness.BesideAtShell(t, func(t *testing.T, c *harness.Console, under string) {
				shell := c.Foreground()
				c.Enter(under + s.command)
				c.See(s.first)
				for range 2 {
					suspend(c, s.keys)
					c.Prompt()
					c.WaitForeground(shell)
					waitStates(c, "T")
					fg(c)
				}
				s.again(c)
				c.WantPrompt(s.status)
				c.WantShown(`drainit: `, 0)
			})
		})
	}
}

// The shell waits for the script, which has to stop too: the key reaches it only
// where the worker does not have the terminal.
func TestTTYCtrlZStopsTheScriptAroundDrainit(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"inner", "outer"} {
		for name, read := range map[string]string{"does not read": "", "reads": "read x; "} {
			t.Run(script+" "+name, func(t *testing.T) {
				harness.BesideAtShell(t, func(t *testing.T, c *harness.Console, under string) {
					dir := t.TempDir()
					inner := harness.WriteProgram(t, dir, "inner", 0o755,
						"#!/bin/sh\n"+under+"sh -c '"+read+"exec worker listen -catch USR1 -end USR1'\necho after; exit 9\n")
					harness.WriteProgram(t, dir, "outer", 0o755, "#!/bin/sh\n"+inner+"\nexit $?\n")
					c.Enter(dir + "/" + script)
					if read != "" {
						c.Enter("abc")
					}
					worker := c.Ready()
					ctrlZAndFg(c, 3)
					c.Send(worker, unix.SIGUSR1)
					c.See(`^after`)
					c.WantPrompt(9)
				})
			})
		}
	}
}
