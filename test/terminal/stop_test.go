package terminal

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/console"
)

// wantStopped waits until the shell shows that its job has stopped, by the signal
// of Ctrl-Z, and has its prompt, and until all of the job has really stopped.
func wantStopped(c *console.Console) {
	c.T.Helper()
	c.See(`Stopped`)
	c.WantPrompt(128 + int(unix.SIGTSTP))
	waitStates(c, "T")
}

// ctrlZ stops the job that has the terminal by its key.
func ctrlZ(c *console.Console) {
	c.T.Helper()
	c.Keys("\x1a")
	wantStopped(c)
}

// ctrlZAndFg stops the job so many times and has it go on each time.
func ctrlZAndFg(c *console.Console, times int) {
	c.T.Helper()
	for range times {
		ctrlZ(c)
		fg(c)
	}
}

// startWorker enters a command line and waits until its worker says that it is ready.
func startWorker(c *console.Console, line string) (worker int) {
	c.T.Helper()
	c.Enter(line)
	return c.Ready()
}

// startReader is startWorker for a worker that reads a line first.
func startReader(c *console.Console, line string) (worker int) {
	c.T.Helper()
	c.Enter(line)
	c.Enter("abc")
	return c.Ready()
}

// startInBackground is startWorker for a job with &, whose line the shell's prompt may
// come before.
func startInBackground(c *console.Console, line string) (worker int) {
	c.T.Helper()
	c.Enter(line + " &")
	worker = harness.Number(c.T, c.WaitOut(`ready (\d+)\r?\n`)[1])
	c.WantPrompt(0)
	return worker
}

// waitStates waits until all below the shell are in one of some states.
func waitStates(c *console.Console, states string) {
	c.T.Helper()
	pids := c.Alive() // which looks at every process of the machine
	settled := func() bool {
		for _, pid := range pids {
			if state := harness.StateOf(pid); pid != c.Pid() && state != 0 &&
				strings.IndexByte(states, state) < 0 {
				return false
			}
		}
		return true
	}
	harness.WaitUntil(c.T, "all of the job is in one of the states "+states, func() bool {
		if !settled() {
			return false
		}
		pids = c.Alive() // more may have come
		return settled()
	})
}

// fg brings the job to the foreground. The shell shows it before it gives it the
// terminal, and continues it thereafter: a key in between would be lost.
func fg(c *console.Console) {
	c.T.Helper()
	c.Enter("fg")
	c.See(`fg\r\n[^\r]+\r\n`)
	harness.WaitUntil(c.T, "the job has the terminal", func() bool { return c.Foreground() != c.Pid() })
	waitStates(c, "RSD")
}

// fgTo is fg for a job that gives the terminal to the group of one of its processes.
func fgTo(c *console.Console, pid int) {
	c.T.Helper()
	fg(c)
	c.WaitForeground(harness.TaskOf(pid).Group)
}

func TestTTYCtrlZQuietsWhatHandlesIt(t *testing.T) {
	t.Parallel()
	c := console.AtShell(t)
	worker := startWorker(c, "drainit -- sh -c 'worker listen -catch TSTP,CONT,TERM -exit 7; exit $?'")
	drainit := c.Above(harness.TaskOf(worker).Ppid)
	c.Keys("\x1a")
	c.WaitOut(`got SIGTSTP`)
	c.WaitOut(`drainit: quiet: SIGTSTP to worker`)
	harness.Kill(c.T, drainit, unix.SIGCONT)
	c.WaitOut(`got SIGCONT`)
	c.WaitOut(`drainit: running again`)
	harness.Kill(c.T, drainit, unix.SIGTERM)
	c.WantPrompt(7)
	c.WantShown(`got SIG(TERM|TSTP)`, 2)
	c.WantShown(`Stopped`, 0)
}

// inShells runs a test with an interactive bash and dash, each beside the same without drainit.
func inShells(t *testing.T, test func(t *testing.T, c *console.Console, under string)) {
	t.Helper()
	t.Parallel()
	for name, shell := range map[string][]string{"bash": nil, "dash": {"dash", "-i"}} {
		t.Run(name, func(t *testing.T) {
			beside := func(t *testing.T, under string) { test(t, console.AtShell(t, shell...), under) }
			console.Beside(t, beside)
		})
	}
}

func TestTTYCtrlZStopsAndFgAndBgContinue(t *testing.T) {
	inShells(t, func(t *testing.T, c *console.Console, under string) {
		shell := c.Foreground()
		worker := startWorker(c, under+"worker listen -catch USR1,TERM -drain 100ms -exit 7")
		runs := func() {
			t.Helper()
			harness.Kill(c.T, worker, unix.SIGUSR1)
			c.See(`got SIGUSR1`) // which a stopped one does not see
		}
		for range 3 {
			ctrlZ(c)
			c.WaitForeground(shell)
			c.Enter("jobs")
			c.See(`\[1\] ?\+ +Stopped +.*worker listen`)
			c.WantPrompt(0)
			fg(c)
			runs()
		}
		ctrlZ(c)
		c.Enter("bg")
		c.WantPrompt(0)
		runs()
		c.Enter("jobs")
		c.See(`\[1\] ?\+ +Running +.*worker listen`)
		c.WantPrompt(0)
		c.Keys("\x03") // is for the shell
		c.Prompt()
		c.WantForeground(shell)
		c.WantShown(`drainit: `, 0)
		c.Enter("kill %1; wait %1")
		c.WaitOut(`#7# `)
		c.WantShown(`got SIGTERM`, 1)
		c.WantShown(`\^Z(\r\n)?\[1\] ?\+ +Stopped +[^\r]*\r\n#148# `, 4) // and nothing else
	})
}

// The kernel stops the whole group of one that reads the terminal in the background:
// those which the worker passes the signal on to, too.
func TestTTYStoppedGroupThatIsKilledDrains(t *testing.T) {
	t.Parallel()
	c := console.AtShell(t)
	c.Enter(`drainit -- sh -c 'worker listen -catch TERM -drain 100ms & trap "reads=1" USR1; trap "kill ` +
		`$!; wait $!; exit 7" TERM; ` +
		`while [ ! "$reads" ]; do sleep 0.02; done; read x' &`)
	worker := c.Ready()
	c.Enter("kill -USR1 %1")
	c.WaitState(worker, "T")
	c.ShowStopped() // drainit follows its worker: of a job that runs the shell continues nothing
	c.Enter("kill %1")
	c.See(`got SIGTERM`)
	c.ShowJobs(0, `\[1\][-+] +Exit 7 `)
}

// All that the worker has started stops with it, and goes on with it.
func TestTTYCtrlZStopsTheWholeGroupOfTheWorker(t *testing.T) {
	t.Parallel()
	console.BesideAtShell(t, func(t *testing.T, c *console.Console, under string) {
		worker := startWorker(c, under+"sh -c 'worker listen -catch USR1 -end USR1 | cat; exit 4'")
		ctrlZ(c)
		fg(c)
		harness.Kill(c.T, worker, unix.SIGUSR1)
		c.See(`drained`)
		c.WantPrompt(4)
	})
}

// No process could continue such a drainit: a stop would be for good, and so the kernel discards it.
func TestTTYCtrlZWithoutAShellAboveStopsNothing(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		c := console.At(t, harness.Launch{NoPID1: noPID1,
			Args: harness.Words("-- worker listen -catch USR1,TERM")})
		worker := c.Ready()
		for range 3 {
			c.Keys("\x1a")
			c.See(`drainit: warning: quiet has no effect|drainit: quiet`)
		}
		harness.Kill(c.T, worker, unix.SIGUSR1)
		c.See(`got SIGUSR1`)
		c.Keys("\x03")
		c.WantExit(130) // the worker does not handle INT
		c = console.At(t, harness.Launch{NoPID1: noPID1,
			Args: []string{"--", "sh", "-c", "read x; echo x is $x; read y; echo y is $y; exit 3"}})
		c.Enter("abc")
		c.See(`x is abc`)
		c.Keys("\x1a\x1a\x1a") // the terminal is the worker's
		enterY(c)
		c.WantExit(3)
	})
}

// A job that does not handle TSTP is stopped by it, in the background too, as any program
// is: drainit with its worker.
func TestTTYTstpInTheBackgroundStopsTheJob(t *testing.T) {
	t.Parallel()
	c := console.AtShell(t)
	worker := startWorker(c, "drainit -- worker listen -catch TERM -exit 7 &")
	c.Enter("kill -TSTP $!")
	c.WaitState(c.Above(worker), "T")
	c.WaitState(worker, "T")
	c.ShowStopped() // the last of drainit's threads may stop later: bg would take it to be running
	c.Enter("bg")
	c.WaitState(worker, "S")
	c.Enter("kill $!; wait $!")
	c.See(`got SIGTERM`)
	c.WaitOut(`#7# `)
	if harness.StateOf(worker) != 0 {
		t.Errorf("the worker lives: %+v", harness.TaskOf(worker))
	}
	c.WantShown(`quiet`, 0)
}

// From the hand-over on Ctrl-Z stops the worker, and drainit has to follow. A shell's fg of a job that bg
// has continued gives it the terminal, and sends no CONT.
func TestTTYCtrlZOfAWorkerThatHasTheTerminal(t *testing.T) {
	t.Parallel()
	console.BesideAtShell(t, func(t *testing.T, c *console.Console, under string) {
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
			console.BesideAtShell(t, func(t *testing.T, c *console.Console, under string) {
				c.Enter("echo \"" + under + "sh -c '" + read +
					"exec worker listen -catch USR1 -end USR1'; echo after; exit 9\" >inner")
				c.Prompt()
				c.Enter("sh -c 'sh inner; exit $?'")
				if read != "" {
					c.Enter("abc")
				}
				worker := c.Ready()
				ctrlZAndFg(c, 3)
				harness.Kill(c.T, worker, unix.SIGUSR1)
				c.See(`^after`)
				c.WantPrompt(9)
			})
		})
	}
}
