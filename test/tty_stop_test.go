package test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// wantStopped waits until the shell shows that its job has stopped, by the signal
// of Ctrl-Z, and has its prompt, and until all of the job has really stopped.
func (c *console) wantStopped() {
	c.t.Helper()
	c.see(`Stopped`)
	c.wantPrompt(128 + int(unix.SIGTSTP))
	c.waitStates("T")
}

// waitStates waits until all below the shell are in one of some states.
func (c *console) waitStates(states string) {
	c.t.Helper()
	pids := c.alive() // which looks at every process of the machine
	settled := func() bool {
		for _, pid := range pids {
			if state := stateOf(pid); pid != c.Pid() && state != 0 && strings.IndexByte(states, state) < 0 {
				return false
			}
		}
		return true
	}
	c.waitUntil("all of the job is in one of the states "+states, func() bool {
		if !settled() {
			return false
		}
		pids = c.alive() // more may have come
		return settled()
	})
}

// fg brings the job to the foreground. The shell shows it before it gives it the
// terminal, and continues it thereafter: a key in between would be lost.
func (c *console) fg() {
	c.t.Helper()
	c.enter("fg")
	c.see(`fg\r\n[^\r]+\r\n`)
	c.waitUntil("the job has the terminal", func() bool { return c.foreground() != c.Pid() })
	c.waitStates("RSD")
}

func TestTTYCtrlZQuietsAWorkerThatCatchesIt(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"itself":        "worker listen -catch TSTP,CONT,TERM -exit 7",
		"below a shell": "sh -c 'worker listen -catch TSTP,CONT,TERM -exit 7; exit $?'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := atShell(t)
			c.enter("drainit -- " + command)
			worker := c.ready()
			drainit := taskOf(worker).ppid
			if name != "itself" {
				drainit = taskOf(drainit).ppid
			}
			c.keys("\x1a")
			c.waitOut(`got SIGTSTP`)
			c.waitOut(`drainit: quiet: SIGTSTP to worker`)
			c.send(drainit, unix.SIGCONT)
			c.waitOut(`got SIGCONT`)
			c.waitOut(`drainit: running again`)
			c.send(drainit, unix.SIGTERM)
			c.prompt()
			c.wantShown(`got SIGTERM`, 1)
			c.wantShown(`got SIGTSTP`, 1)
			c.wantShown(`Stopped`, 0)
		})
	}
}

func TestTTYCtrlZStopsAndFgContinues(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atShell(t)
		shell := c.foreground()
		c.enter(under + "worker listen -catch USR1,USR2 -end USR2 -exit 7")
		worker := c.ready()
		for range 5 {
			c.keys("\x1a")
			c.wantStopped()
			c.waitState(worker, "T")
			c.waitForeground(shell)
			c.enter("jobs")
			c.see(`\[1\]\+ +Stopped +.*worker listen`)
			c.wantPrompt(0)
			c.fg()
			c.send(worker, unix.SIGUSR1)
			c.see(`got SIGUSR1`) // which a stopped one does not see
		}
		c.send(worker, unix.SIGUSR2)
		c.wantPrompt(7)
		c.wantShown(`drainit: `, 0)
	})
}

func TestTTYCtrlZAndBgContinueInTheBackground(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atShell(t)
		shell := c.foreground()
		c.enter(under + "worker listen -catch USR1,TERM -drain 100ms -exit 7")
		worker := c.ready()
		c.keys("\x1a")
		c.wantStopped()
		c.enter("bg")
		c.wantPrompt(0)
		c.send(worker, unix.SIGUSR1)
		c.see(`got SIGUSR1`)
		c.enter("jobs")
		c.see(`\[1\]\+ +Running +.*worker listen`)
		c.wantPrompt(0)
		c.keys("\x03") // is for the shell
		c.wantPrompt(130)
		c.wantForeground(shell)
		c.fg()
		c.keys("\x1a")
		c.wantStopped()
		c.enter("bg; kill %1; wait %1")
		c.wantPrompt(7)
		c.wantShown(`got SIGTERM`, 1)
	})
}

// The shell sends TERM and then CONT.
func TestTTYStoppedJobThatIsKilledDrains(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atShell(t)
		c.enter(under + "worker listen -catch TERM -drain 500ms -exit 7")
		worker := c.ready()
		c.keys("\x1a")
		c.wantStopped()
		c.waitState(worker, "T")
		c.enter("kill %1")
		c.waitOut(`drained`)
		c.wantPrompt(0)
		c.showJobs(`\[1\][-+] +Exit 7 `)
		c.wantShown(`got SIGTERM`, 1)
	})
}

// The kernel stops the whole group of one that reads the terminal in the background:
// those which the worker passes the signal on to, too.
func TestTTYStoppedGroupThatIsKilledDrains(t *testing.T) {
	t.Parallel()
	c := atShell(t)
	c.enter(`drainit -- sh -c 'worker listen -catch TERM -drain 100ms & trap "reads=1" USR1; trap "kill $!; wait $!; exit 7" TERM; ` +
		`while [ ! "$reads" ]; do sleep 0.02; done; read x' &`)
	worker := c.ready()
	c.enter("kill -USR1 %1")
	c.waitState(worker, "T")
	c.enter("kill %1")
	c.see(`got SIGTERM`)
	c.showJobs(`\[1\][-+] +Exit 7 `)
}

func TestTTYCtrlZStopsAPipelineOfTwo(t *testing.T) {
	t.Parallel()
	c := atShell(t)
	c.enter("drainit -- cat | drainit -- sed -u s/^/got-/")
	c.keys("first\r")
	c.see(`got-first`)
	c.keys("\x1a")
	c.wantStopped()
	c.fg()
	c.keys("second\r")
	c.see(`got-second`)
	c.keys("\x04")
	c.wantPrompt(0)
}

// After fg the keys are drainit's again.
func TestTTYCtrlCAfterFgDrainsAndKills(t *testing.T) {
	t.Parallel()
	c := atShell(t)
	c.enter("drainit -- worker listen -catch INT -end INT -drain 1h")
	c.ready()
	c.keys("\x1a")
	c.wantStopped()
	c.fg()
	c.keys("\x03")
	c.see(`got SIGINT`)
	c.waitOut(`drainit: stopping`)
	pastTheSameRequest()
	c.keys("\x03")
	c.see(`force-stop: killing`)
	c.wantPrompt(137)
}

// All that the worker has started stops with it, and goes on with it.
func TestTTYCtrlZStopsTheWholeGroupOfTheWorker(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atShell(t)
		c.enter(under + "sh -c 'worker listen -catch USR1 -end USR1 | cat; exit 4'")
		worker := c.ready()
		c.keys("\x1a")
		c.wantStopped()
		c.fg()
		c.send(worker, unix.SIGUSR1)
		c.see(`drained`)
		c.wantPrompt(4)
	})
}

// orphaned are the places of a drainit that no process could continue: a stop would
// be for good, and so the kernel discards it.
func orphaned(t *testing.T, test func(t *testing.T, start func(command ...string) *console)) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		test(t, func(command ...string) *console {
			return atConsole(t, Launch{NoPID1: noPID1, Args: append([]string{"--"}, command...)})
		})
	})
}

func TestTTYCtrlZWithoutAShellAboveStopsNothing(t *testing.T) {
	orphaned(t, func(t *testing.T, start func(command ...string) *console) {
		c := start("worker", "listen", "-catch", "USR1,TERM", "-exit", "7")
		worker := c.ready()
		for range 3 {
			c.keys("\x1a")
			c.see(`drainit: warning: quiet has no effect|drainit: quiet`)
		}
		c.send(worker, unix.SIGUSR1)
		c.see(`got SIGUSR1`)
		c.keys("\x03")
		c.wantExit(130) // the worker does not handle INT
	})
}

func TestTTYCtrlZWithoutAShellAboveLeavesTheTerminalToTheWorker(t *testing.T) {
	orphaned(t, func(t *testing.T, start func(command ...string) *console) {
		c := start("sh", "-c", "read x; echo x is $x; read y; echo y is $y; exit 3")
		c.enter("abc")
		c.see(`x is abc`)
		c.keys("\x1a\x1a\x1a")
		c.enter("def")
		c.see(`y is def`)
		c.wantExit(3)
	})
}

// A job that does not handle TSTP is stopped by it, in the background too, as any program
// is: drainit with its worker.
func TestTTYTstpInTheBackgroundStopsTheJob(t *testing.T) {
	t.Parallel()
	c := atShell(t)
	c.enter("drainit -- worker listen -catch TERM -exit 7 &")
	worker := c.ready()
	c.enter("kill -TSTP $!")
	c.waitState(c.above(worker), "T")
	c.waitState(worker, "T")
	c.enter("bg")
	c.waitState(worker, "S")
	c.enter("kill $!; wait $!")
	c.see(`got SIGTERM`)
	c.waitOut(`#7# `)
	if stateOf(worker) != 0 {
		t.Errorf("the worker lives: %+v", taskOf(worker))
	}
	c.wantShown(`quiet`, 0)
}

func TestTTYTstpForADrainitWhoseWorkerHasTheTerminalQuiets(t *testing.T) {
	t.Parallel()
	c := atShell(t)
	c.enter("drainit -- sh -c 'read x; exec worker listen -catch TSTP,TERM -exit 7'")
	c.enter("abc")
	worker := c.ready()
	c.send(c.above(worker), unix.SIGTSTP)
	c.waitOut(`got SIGTSTP`)
	c.waitOut(`drainit: quiet: SIGTSTP to worker`)
	c.send(c.above(worker), unix.SIGTERM)
	c.wantPrompt(7)
	c.wantShown(`Stopped`, 0)
}
