//go:build terminal

package test

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// stopsInTheBackground starts a job with & that wants the terminal, and waits
// until the shell shows that it has stopped.
func (c *console) stopsInTheBackground(command string) (reader int) {
	c.t.Helper()
	c.enter(command + " &")
	reader = c.hostPid(numberIn(c.t, c.waitOut(`ready (\d+)\r?\n`)[1]))
	c.waitStates("T")
	c.wantPrompt(0)
	c.showJobs(`\[1\]\+ +Stopped`)
	return reader
}

func numberIn(t *testing.T, text string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestBackgroundJobNeverTakesTheForeground(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atShell(t)
		shell := c.foreground()
		c.enter(under + "worker listen -catch USR1,TERM -drain 100ms -exit 7 &")
		worker := numberIn(t, c.waitOut(`ready (\d+)\r?\n`)[1])
		c.wantPrompt(0)
		for range 5 {
			c.send(worker, unix.SIGUSR1)
			c.see(`got SIGUSR1`)
			if fg := c.foreground(); fg != shell {
				t.Errorf("group %d has the terminal, and the shell is %d%s", fg, shell, c.processes())
			}
			c.enter("echo mark$((1+1))")
			c.see(`^mark2`)
			c.wantPrompt(0)
		}
		c.keys("\x03") // is for the shell
		c.wantPrompt(130)
		c.enter("kill %1; wait %1")
		c.waitOut(`#7# `)
		c.wantShown(`got SIGTERM`, 1)
		c.wantShown(`got SIGINT`, 0)
	})
}

func TestStatusOfABackgroundJob(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atShell(t)
		c.enter(under + "sh -c 'exit 7' & wait $!")
		c.wantPrompt(7)
		c.enter("for n in 1 2 3 4 5; do " + under + "sh -c \"exit $n\" & all=\"$all $!\"; done; for p in $all; do wait $p; echo sta''tus $?; done")
		for n := range 5 {
			c.see(fmt.Sprintf(`status %d`, n+1))
		}
	})
}

func TestBackgroundJobThatReadsStopsUntilFg(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atShell(t)
		shell := c.foreground()
		reader := c.stopsInTheBackground(under + catReady)
		c.fg()
		c.waitForeground(taskOf(reader).group)
		c.enter("abc")
		c.see(`abc\r\nabc\r\n`)
		c.keys("\x1a")
		c.wantStopped()
		c.enter("bg") // and reads again
		c.wantPrompt(0)
		c.waitStates("T")
		c.fg()
		c.waitForeground(taskOf(reader).group)
		c.enter("def")
		c.see(`def\r\ndef\r\n`)
		c.keys("\x04")
		c.wantPrompt(0)
		if fg := c.foreground(); fg != shell {
			t.Errorf("group %d has the terminal, and the shell is %d%s", fg, shell, c.processes())
		}
		c.wantShown(`drainit: `, 0)
	})
}

func TestBackgroundJobThatSetsTheModesStopsUntilFg(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atShell(t)
		c.stopsInTheBackground(under + `sh -c 'echo ready $$; stty -echoctl; stty -a; exit 3'`)
		c.enter("fg")
		c.see(`-echoctl`)
		c.wantPrompt(3)
	})
}

func TestReaderThatIsKilledInTheBackgroundEnds(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atShell(t)
		reader := c.stopsInTheBackground(under + catReady)
		c.enter("kill %1")
		c.wantPrompt(0)
		c.showJobs(`\[1\]\+ +(Terminated|Exit 143) `)
		if stateOf(reader) != 0 {
			t.Errorf("the reader lives: %+v", taskOf(reader))
		}
	})
}

// Nothing stops it in the background: fg just gives it the terminal, without a CONT.
func TestRunningBackgroundJobIsBroughtToTheForeground(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atShell(t)
		fifo := t.TempDir() + "/fifo"
		if err := unix.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		c.enter(under + "sh -c 'echo ready $$; read x <" + fifo + "; read y; echo y is $y; exit 3' &")
		worker := numberIn(t, c.waitOut(`ready (\d+)\r?\n`)[1])
		c.wantPrompt(0)
		c.enter("fg")
		c.see(`read y`)
		job := taskOf(worker)
		if under != "" {
			job = taskOf(job.ppid)
		}
		c.waitForeground(job.group)
		writeLine(t, fifo)
		c.enter("def")
		c.see(`y is def`)
		c.wantPrompt(3)
	})
}

func TestCtrlCOfAJobThatWasBroughtToTheForegroundDrains(t *testing.T) {
	t.Parallel()
	c := atShell(t)
	c.enter("drainit -- worker listen -catch INT -end INT -drain 100ms -exit 7 &")
	worker := numberIn(t, c.waitOut(`ready (\d+)\r?\n`)[1])
	c.wantPrompt(0)
	c.enter("fg")
	c.see(`worker listen`)
	c.waitForeground(taskOf(c.above(worker)).group)
	c.keys("\x03")
	c.wantPrompt(7)
	c.wantShown(`got SIGINT`, 1)
}

// A stop in the background ends with the grace, whatever the worker waits for: a
// drainit that stopped with it would hang.
func TestBackgroundJobThatWantsTheTerminalWhileItDrainsIsKilled(t *testing.T) {
	t.Parallel()
	for name, wants := range map[string]string{"reads": "read x", "sets the modes": "stty sane"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := atShell(t)
			c.enter(`drainit --grace 2s -- sh -c 'trap "` + wants + ` </dev/tty; exit 0" TERM; echo ready $$; while :; do sleep 0.02; done' &`)
			c.waitOut(`ready \d`)
			c.wantPrompt(0)
			c.enter("kill $!; wait $!")
			c.waitOut(`drainit: warning: grace of 2s over: killing`)
			c.waitOut(`#137# `)
		})
	}
}
