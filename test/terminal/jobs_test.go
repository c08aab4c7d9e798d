package terminal

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/console"
)

// stopsInTheBackground starts a job with & that wants the terminal, and waits
// until the shell shows that it has stopped.
func stopsInTheBackground(c *console.Console, command string) (reader int) {
	c.T.Helper()
	reader = startInBackground(c, command)
	waitStates(c, "T")
	c.ShowJobs(0, `\[1\] ?[-+] +Stopped`)
	return reader
}

func TestTTYBackgroundJobThatReadsStopsUntilFg(t *testing.T) {
	inShells(t, func(t *testing.T, c *console.Console, under string) {
		shell := c.Foreground()
		reader := stopsInTheBackground(c, under+catReady)
		c.WantForeground(shell)
		fgTo(c, reader)
		typeToCat(c, "abc")
		ctrlZ(c)
		c.Enter("bg") // and reads again
		c.WantPrompt(0)
		waitStates(c, "T")
		c.ShowStopped()
		fgTo(c, reader)
		typeToCat(c, "def")
		c.Keys("\x04")
		c.WantPrompt(0)
		c.WantForeground(shell)
		c.WantShown(`drainit: `, 0)
	})
}

// What comes when drainit is about to stop with its worker, right before it sends
// itself the stop and right after, finds it running.
func TestTTYWhatComesWhileDrainitIsAboutToStop(t *testing.T) {
	t.Parallel()
	harness.Need(t, "strace")
	tests := map[string]struct {
		around string // drainit's command line, for the shell
		comes  func(c *console.Console, drainit int)
	}{
		"fg": {"%s", func(c *console.Console, _ int) {
			c.Enter("fg")
			c.Enter("abc")
			c.See(`x is abc`)
			c.WantPrompt(3)
		}},
		"TERM": {"%s", func(c *console.Console, _ int) {
			c.Enter("kill %1; wait %1")
			c.WaitOut(`#143# `)
		}},
		"TERM in a script": {`sh -c "%s; exit 5"`, func(c *console.Console, drainit int) {
			harness.Kill(c.T, drainit, unix.SIGTERM)
			c.ShowJobs(0, `\[1\][-+] +Exit 5`) // it was stopped, too
		}},
	}
	for name, tt := range tests {
		for _, delay := range []string{"delay_enter", "delay_exit"} {
			t.Run(name+", "+delay, func(t *testing.T) {
				t.Parallel()
				slowed(t, func(c *console.Console) bool {
					c.Enter(`echo 'echo ready $PPID; read x; echo x is $x; exit 3' >reads`)
					c.WantPrompt(0)
					c.Enter(fmt.Sprintf(tt.around, slowTgkill+delay+"=4s:when=1 drainit -- sh reads") + " &")
					drainit := harness.Number(t, c.WaitOut(`ready (\d+)\r?\n`)[1])
					c.WantPrompt(0)
					if !waitInTgkill(c, drainit, delay) {
						return false
					}
					tt.comes(c, drainit)
					return true
				})
			})
		}
	}
}

// slowTgkill is the command of a strace that holds a program up in that call. The second of
// drainit's main thread is the stop; by the first, at the start, it sees whether it can be woken
// so. The Go runtime is not to interrupt its own threads by it.
const slowTgkill = "GODEBUG=asyncpreemptoff=1 strace -DDD -q -o /dev/null -e trace=tgkill -e inject=tgkill:"

// slowed runs a test at a shell until strace could hold drainit up.
func slowed(t *testing.T, test func(c *console.Console) bool) {
	t.Helper()
	harness.WaitUntil(t, "strace has a timer", func() bool {
		c := console.AtShell(t)
		if test(c) {
			return true
		}
		c.End()
		return false
	})
}

// waitInTgkill waits until drainit, under a strace that delays this, is about to send itself the stop, or
// has just sent it. It is false where strace delays nothing: on a busy machine the kernel may have no timer
// for it (timer_create(2), EAGAIN).
func waitInTgkill(c *console.Console, drainit int, delay string) bool {
	c.T.Helper()
	file, pattern := "syscall", fmt.Sprintf(`^%d `, unix.SYS_TGKILL)
	if delay == "delay_exit" {
		file, pattern = "status", `(?m)^SigPnd:\t0+80000$` // TSTP, of the first thread
	}
	noTimer := func() bool { return strings.Contains(c.Shown(), "strace: timer_create") }
	harness.WaitUntil(c.T, "drainit is about to stop", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", drainit, file))
		return noTimer() || err == nil && regexp.MustCompile(pattern).Match(b)
	})
	return !noTimer()
}

func TestTTYReaderThatIsKilledInTheBackgroundEnds(t *testing.T) {
	t.Parallel()
	console.BesideAtShell(t, func(t *testing.T, c *console.Console, under string) {
		reader := stopsInTheBackground(c, under+catReady)
		c.Enter("kill %1")
		c.WantPrompt(0)
		c.ShowJobs(0, `\[1\][-+] +(Terminated|Exit 143) `)
		if harness.StateOf(reader) != 0 {
			t.Errorf("the reader lives: %+v", harness.TaskOf(reader))
		}
	})
}

// Nothing stops it in the background: fg just gives it the terminal, without a CONT.
func TestTTYRunningBackgroundJobIsBroughtToTheForeground(t *testing.T) {
	t.Parallel()
	console.BesideAtShell(t, func(t *testing.T, c *console.Console, under string) {
		fifo := t.TempDir() + "/fifo"
		harness.Must(t, unix.Mkfifo(fifo, 0o600))
		worker := startInBackground(c, under+"sh -c 'echo ready $$; read x <"+fifo+
			"; read y; echo y is $y; exit 3'")
		c.Enter("fg")
		c.See(`read y`)
		job := harness.TaskOf(worker)
		if under != "" {
			job = harness.TaskOf(job.Ppid)
		}
		c.WaitForeground(job.Group)
		harness.WriteFile(t, fifo, "go\n")
		enterY(c)
		c.WantPrompt(3)
	})
}

// A stop in the background ends with the grace, whatever the worker waits for: a
// drainit that stopped with it would hang.
func TestTTYBackgroundJobThatWantsTheTerminalWhileItDrainsIsKilled(t *testing.T) {
	t.Parallel()
	for name, wants := range map[string]string{"reads": "read x", "sets the modes": "stty sane"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := console.AtShell(t)
			c.Enter(`drainit --grace 1s -- sh -c 'trap "` + wants +
				` </dev/tty; exit 0" TERM; echo ready $$; while :; do sleep 0.02; done' &`)
			c.WaitOut(`ready \d`)
			c.WantPrompt(0)
			c.Enter("kill $!; wait $!")
			c.WaitOut(`drainit: warning: grace period of 1s over: killing`)
			c.WaitOut(`#137# `)
		})
	}
}
