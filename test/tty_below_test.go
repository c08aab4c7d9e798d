package test

import "testing"

// An image that has drainit, under docker run --init with another: the outer one lends
// the terminal to the inner one, and that to its worker.
func TestTTYDrainitBelowDrainitHasTheTerminal(t *testing.T) {
	t.Parallel()
	const reads = `sh -c 'read x; echo x is $x, ready $$; read y; echo y is $y; exit 3'`
	for name, command := range map[string]string{
		"directly":      "drainit -- drainit -- " + reads,
		"below a shell": `drainit -- sh -c 'drainit -- sh "$0"; exit $?' reads`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := atShell(t)
			if name != "directly" {
				c.enter(`echo 'read x; echo x is $x, ready $$; read y; echo y is $y; exit 3' >reads`)
				c.wantPrompt(0)
			}
			shell := c.foreground()
			c.enter(command)
			c.enter("abc")
			worker := c.ready()
			for range 2 {
				c.keys("\x1a")
				c.wantStopped()
				c.waitForeground(shell)
				c.waitState(worker, "T")
				c.fg()
			}
			c.enter("def")
			c.see(`y is def`)
			c.wantPrompt(3)
			c.wantForeground(shell)
		})
	}
}

// A worker that stops itself, by whichever signal, is a job that is stopped.
func TestTTYWorkerThatStopsItselfStopsTheJob(t *testing.T) {
	t.Parallel()
	for _, sig := range []string{"TSTP", "STOP"} {
		t.Run(sig, func(t *testing.T) {
			beside(t, func(t *testing.T, under string) {
				c := atShell(t)
				c.enter(under + `sh -c 'kill -` + sig + ` $$; echo it is ba""ck; exit 3'`)
				c.see(`Stopped`)
				c.prompt()
				c.enter("fg")
				c.see(`it is back`)
				c.wantPrompt(3)
			})
		})
	}
}

// Where TERM is dropped, the end of the terminal counts as the stop signal that is left.
func TestTTYClosedTerminalDrainsWhereTermIsDropped(t *testing.T) {
	t.Parallel()
	r := newRecord(t)
	c := atShell(t)
	c.enter("drainit --rewrite TERM:0 -- sh -c 'exec worker listen -catch INT -end INT >" + r.path + "'")
	r.ready(c)
	c.hangUp()
	r.wait("drained")
	c.wantNothingLeft()
	r.want("got SIGINT", 1)
}
