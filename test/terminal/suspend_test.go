package terminal

import (
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// From the hand-over on Ctrl-Z stops the worker, and drainit has to follow. A shell's fg of a job that bg
// has continued gives it the terminal, and sends no CONT.
func TestTTYCtrlZOfAWorkerThatHasTheTerminal(t *testing.T) {
	t.Parallel()
	harness.BesideAtShell(t, func(t *testing.T, c *harness.Console, under string) {
		shell := c.Foreground()
		worker := startReader(c, under+`sh -c 'read x; echo x is $x, ready $$; exec sleep 1000'`)
		for range 2 {
			ctrlZ(c)
			c.WaitForeground(shell)
			fgTo(c, worker)
			ctrlZ(c)
			c.Enter("bg")
			c.WantPrompt(0)
			c.WaitState(worker, "S") // bg has been acted upon
			fg(c)
		}
		ctrlZ(c)
		fgTo(c, worker)
		c.Keys("\x03")
		c.WantPrompt(130)
		c.WantShown(`drainit: `, 0)
	})
}

// The shell waits for the script, which has to stop too: the key reaches it only
// where the worker does not have the terminal.
func TestTTYCtrlZStopsTheScriptsAroundDrainit(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]string{"does not read": "", "reads": "read x; "} {
		t.Run(name, func(t *testing.T) {
			harness.BesideAtShell(t, func(t *testing.T, c *harness.Console, under string) {
				c.Enter("echo \"" + under + "sh -c '" + read + "exec worker listen -catch USR1 -end USR1'; echo after; exit 9\" >inner")
				c.Prompt()
				c.Enter("sh -c 'sh inner; exit $?'")
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
