package test

import (
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

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
	c.showJobs(`\[1\][-+] +Stopped`)
	return reader
}

func numberIn(t *testing.T, text string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTTYBackgroundJobNeverTakesTheForeground(t *testing.T) {
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
			c.wantForeground(shell)
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

func TestTTYStatusOfABackgroundJob(t *testing.T) {
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

func TestTTYBackgroundJobThatReadsStopsUntilFg(t *testing.T) {
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
		c.showStopped()
		c.fg()
		c.waitForeground(taskOf(reader).group)
		c.enter("def")
		c.see(`def\r\ndef\r\n`)
		c.keys("\x04")
		c.wantPrompt(0)
		c.wantForeground(shell)
		c.wantShown(`drainit: `, 0)
	})
}

// What comes when drainit is about to stop with its worker, right before it sends
// itself the stop and right after, finds it running.
func TestTTYWhatComesWhileDrainitIsAboutToStop(t *testing.T) {
	t.Parallel()
	need(t, "strace")
	tests := map[string]struct {
		around string // drainit's command line, for the shell
		comes  func(c *console, drainit int)
	}{
		"fg": {"%s", func(c *console, _ int) {
			c.enter("fg")
			c.enter("abc")
			c.see(`x is abc`)
			c.wantPrompt(3)
		}},
		"TERM": {"%s", func(c *console, _ int) {
			c.enter("kill %1; wait %1")
			c.waitOut(`#143# `)
		}},
		"TERM in a script": {`sh -c "%s; exit 5"`, func(c *console, drainit int) {
			c.send(drainit, unix.SIGTERM)
			c.showJobs(`\[1\][-+] +Exit 5`) // it was stopped, too
		}},
	}
	for name, tt := range tests {
		for _, delay := range []string{"delay_enter", "delay_exit"} {
			t.Run(name+", "+delay, func(t *testing.T) {
				t.Parallel()
				c := atShell(t)
				c.enter(`echo 'echo ready $PPID; read x; echo x is $x; exit 3' >reads`)
				c.wantPrompt(0)
				c.enter(fmt.Sprintf(tt.around, slowTgkill+delay+"=4s:when=1 "+
					"drainit -- sh reads") + " &")
				drainit := numberIn(t, c.waitOut(`ready (\d+)\r?\n`)[1])
				c.wantPrompt(0)
				waitInTgkill(c, drainit, delay)
				tt.comes(c, drainit)
			})
		}
	}
}

// A shell's kill of a stopped job, at any moment of the stop, and on one processor,
// where a signal is on its way for longer.
func TestTTYKilledAtAnyMomentOfAStopDrains(t *testing.T) {
	t.Parallel()
	need(t, "strace", "taskset")
	for after := range 10 {
		t.Run(fmt.Sprintf("%d ms", after), func(t *testing.T) {
			t.Parallel()
			c := atShell(t)
			c.enter(slowTgkill + "delay_enter=5ms:when=1 taskset -c 0 drainit -- " +
				"sh -c 'echo ready $$; read x' &")
			worker := numberIn(t, c.waitOut(`ready (\d+)\r?\n`)[1])
			drainit := c.above(worker)
			c.waitState(worker, "T")
			time.Sleep(time.Duration(after) * time.Millisecond) // where the signals come is what the test is about
			c.send(drainit, unix.SIGTERM)
			c.send(drainit, unix.SIGCONT)
			c.waitOut(`drainit: stopped after `)
		})
	}
}

// A script stops by the key at once, and drainit follows: fg may come between.
func TestTTYFgBeforeDrainitHasFollowedItsScript(t *testing.T) {
	t.Parallel()
	need(t, "strace")
	for _, delay := range []string{"delay_enter", "delay_exit"} {
		t.Run(delay, func(t *testing.T) {
			t.Parallel()
			c := atShell(t)
			c.enter(`echo 'read x; exec worker listen -catch INT -end INT -drain 100ms -exit 7' >reads`)
			c.wantPrompt(0)
			c.enter(`sh -c "` + slowTgkill + delay + `=4s:when=1 drainit -- sh reads; exit 5"`)
			c.enter("abc")
			worker := c.ready()
			drainit := c.above(worker)
			c.waitForeground(taskOf(worker).group)
			c.keys("\x1a")
			c.see(`Stopped`)
			c.wantPrompt(148)
			waitInTgkill(c, drainit, delay)
			c.enter("fg")
			c.waitForeground(taskOf(worker).group)
			c.keys("\x03") // is for the worker alone, which has the terminal again
			c.see(`got SIGINT`)
			c.wantPrompt(5)
			c.wantShown(`drainit: `, 0)
		})
	}
}

// slowTgkill is the command of a strace that holds a program up in that call, which in
// drainit is the stop: the Go runtime is not to interrupt its own threads by it.
const slowTgkill = "GODEBUG=asyncpreemptoff=1 strace -DDD -q -o /dev/null -e trace=tgkill -e inject=tgkill:"

// waitInTgkill waits until drainit, under a strace that delays this, is about to send
// itself the stop, or has just sent it.
func waitInTgkill(c *console, drainit int, delay string) {
	c.t.Helper()
	file, pattern := "syscall", fmt.Sprintf(`^%d `, unix.SYS_TGKILL)
	if delay == "delay_exit" {
		file, pattern = "status", `(?m)^SigPnd:\t0+80000$` // TSTP, of the first thread
	}
	c.waitUntil("drainit is about to stop", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", drainit, file))
		return err == nil && regexp.MustCompile(pattern).Match(b)
	})
}

func TestTTYBackgroundJobThatSetsTheModesStopsUntilFg(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atShell(t)
		c.stopsInTheBackground(under + `sh -c 'echo ready $$; stty -echoctl; stty -a; exit 3'`)
		c.enter("fg")
		c.see(`-echoctl`)
		c.wantPrompt(3)
	})
}

func TestTTYReaderThatIsKilledInTheBackgroundEnds(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atShell(t)
		reader := c.stopsInTheBackground(under + catReady)
		c.enter("kill %1")
		c.wantPrompt(0)
		c.showJobs(`\[1\][-+] +(Terminated|Exit 143) `)
		if stateOf(reader) != 0 {
			t.Errorf("the reader lives: %+v", taskOf(reader))
		}
	})
}

// Nothing stops it in the background: fg just gives it the terminal, without a CONT.
func TestTTYRunningBackgroundJobIsBroughtToTheForeground(t *testing.T) {
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

func TestTTYCtrlCOfAJobThatWasBroughtToTheForegroundDrains(t *testing.T) {
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
func TestTTYBackgroundJobThatWantsTheTerminalWhileItDrainsIsKilled(t *testing.T) {
	t.Parallel()
	for name, wants := range map[string]string{"reads": "read x", "sets the modes": "stty sane"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := atShell(t)
			c.enter(`drainit --grace 2s -- sh -c 'trap "` + wants + ` </dev/tty; exit 0" TERM; echo ready $$; while :; do sleep 0.02; done' &`)
			c.waitOut(`ready \d`)
			c.wantPrompt(0)
			c.enter("kill $!; wait $!")
			c.waitOut(`drainit: warning: grace period of 2s over: killing`)
			c.waitOut(`#137# `)
		})
	}
}
