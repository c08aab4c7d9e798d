package terminal

import (
	"testing"

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
