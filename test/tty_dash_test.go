package test

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Another shell with job control of its own making.
func TestTTYJobOfDash(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atDash(t)
		shell := c.foreground()
		c.enter(under + "worker listen -catch USR1,TERM -drain 100ms -exit 7")
		worker := c.ready()
		for range 2 {
			c.keys("\x1a")
			c.wantStopped()
			c.waitForeground(shell)
			c.enter("jobs")
			c.see(`\[1\] \+ Stopped +.*worker listen`)
			c.wantPrompt(0)
			c.fg()
			c.send(worker, unix.SIGUSR1)
			c.see(`got SIGUSR1`)
		}
		c.keys("\x1a")
		c.wantStopped()
		c.enter("bg")
		c.wantPrompt(0)
		c.send(worker, unix.SIGUSR1)
		c.see(`got SIGUSR1`)
		c.wantForeground(shell)
		c.enter("kill %1; wait %1")
		c.waitOut(`#7# `)
		c.wantShown(`got SIGTERM`, 1)
	})
}

func TestTTYBackgroundJobOfDashThatReads(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atDash(t)
		shell := c.foreground()
		c.enter(under + catReady + " &")
		reader := numberIn(t, c.waitOut(`ready (\d+)\r?\n`)[1])
		c.wantPrompt(0)
		c.waitStates("T")
		c.wantForeground(shell)
		c.fg()
		c.waitForeground(taskOf(reader).group)
		c.enter("abc")
		c.see(`abc\r\nabc\r\n`)
		c.keys("\x04")
		c.wantPrompt(0)
	})
}
