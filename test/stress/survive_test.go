package stress

import (
	"os"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// talkative makes drainit write more lines than it queues. It keeps its handlers to its very
// end: a USR1 that waited behind the TERM is none to die of.
const talkative = `
waitpid spawn { spawn { } for 1 .. 300 }, 0;
catch "USR1", "TERM"; say "ready"; await "TERM"; nap 0.3; say "drained"; POSIX::_exit(7)`

func TestLogThatIsNotTakenChangesNothing(t *testing.T) {
	harness.Need(t, "perl")
	for name, how := range harness.BadStderr {
		t.Run(name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				l := how(t)
				l.NoPID1, l.Args = noPID1, harness.Line([]string{"-v", "-w", harness.LongGrace}, harness.Script(talkative)...)
				drainUnheard(t, harness.Run(t, l))
			})
		})
	}
}

func drainUnheard(t *testing.T, p *harness.Init) {
	p.WaitOut(`^ready`)
	harness.WaitUntil(t, "all orphans have been waited for", func() bool { return len(harness.ChildrenOf(p.Pid())) == 1 })
	for range 200 {
		p.Signal(syscall.SIGUSR1)
	}
	p.WaitOut(`^worker got USR1`)
	p.Signal(syscall.SIGTERM)
	p.WaitOut(`^drained`)
	p.WantExit(7)
	p.WantCount("worker got TERM", 1)
	p.WantNothingLeft()
}

// tellsLeftover is a worker that exits on TERM, and leaves a child that was
// not signalled and drains.
const tellsLeftover = `
$SIG{TERM} = sub { say "worker got TERM"; exit 3 };
spawn { $name = "child"; catch "TERM"; say "ready"; await "TERM"; nap 1.5; say "drained" };
forever`

// withoutProc runs a test as PID 1 with no /proc, and with one whose pids mean
// other processes.
func withoutProc(t *testing.T, test func(t *testing.T, setup harness.Setup)) {
	t.Helper()
	harness.Need(t, "perl")
	t.Parallel()
	for _, proc := range []string{"none", "foreign"} {
		t.Run(proc, func(t *testing.T) {
			t.Parallel()
			test(t, harness.Setup{Proc: proc})
		})
	}
}

func TestWithoutProcWorkerAndLeftoverAreSignalledOnceAndDrain(t *testing.T) {
	withoutProc(t, func(t *testing.T, setup harness.Setup) {
		p := harness.Run(t, harness.Launch{Setup: setup, Args: harness.Line([]string{"--grace", "60s"}, harness.Script(tellsLeftover)...)})
		p.WaitOut(`^ready`)
		p.Signal(syscall.SIGTERM)
		p.WantExit(3)
		for _, want := range []string{"worker got TERM", "child got TERM", "drained"} {
			p.WantCount(want, 1)
		}
		p.WantNothingLeft()
	})
}

func TestWithoutProcLeftoverOfAWorkerThatExitsIsSignalled(t *testing.T) {
	withoutProc(t, func(t *testing.T, setup harness.Setup) {
		stdin, exit := harness.Pipe(t)
		hold, release := harness.Pipe(t)
		p := harness.Run(t, harness.Launch{Setup: setup, Stdin: stdin, Files: []*os.File{hold},
			Args: harness.Line([]string{"--grace", "60s"}, harness.Script(harness.LeavesChild, "1.5")...)})
		p.WaitOut(`^ready`)
		exit.Close()
		p.WaitOut(`^child got TERM`)
		release.Close()
		p.WantExit(5)
		p.WantCount("child got TERM", 1)
		p.WantCount("drained", 1)
		p.WantLogged(`exited with status 5 and left what /proc does not show, SIGKILL in 30s`, 1)
	})
}

func TestWithoutProcTheGraceKillsEverything(t *testing.T) {
	withoutProc(t, func(t *testing.T, setup harness.Setup) {
		p := harness.Run(t, harness.Launch{Setup: setup, Args: harness.Line([]string{"--grace", "500ms"}, harness.Script(harness.Stubborn)...)})
		p.WaitOut(`^ready`)
		p.Signal(syscall.SIGTERM)
		p.WantExit(137)
		p.WantLogged(`grace period of 500ms over: killing what is left`, 1)
		p.WantNothingLeft()
	})
}

func TestWithoutProcSecondStopSignalForceStops(t *testing.T) {
	withoutProc(t, func(t *testing.T, setup harness.Setup) {
		p := harness.Run(t, harness.Launch{Setup: setup, Args: harness.Line([]string{"--grace", "60s"}, harness.Script(harness.Stubborn)...)})
		p.WaitOut(`^ready`)
		p.Signal(syscall.SIGTERM)
		p.WaitErr(`what still runs after`)
		harness.PastTheSameRequest(p)
		p.Signal(syscall.SIGTERM)
		p.WantExit(137)
		p.WantNothingLeft()
	})
}

// surroundings are where a container may run drainit.
var surroundings = map[string]harness.Launch{
	"a read-only root":               {Setup: harness.Setup{ReadOnly: true}},
	"an ordinary user":               {Setup: harness.Setup{UID: 65534}},
	"an ordinary user, not as PID 1": {Setup: harness.Setup{UID: 65534}, NoPID1: true},
	"an ordinary user, no /proc":     {Setup: harness.Setup{UID: 65534, Proc: "none", ReadOnly: true}},
}

func TestDrainAndKillWorkAnywhere(t *testing.T) {
	harness.Need(t, "perl")
	t.Parallel()
	for name, l := range surroundings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if l.Setup.UID != 0 {
				harness.NeedRoot(t)
			}
			drainAndKill(t, l)
		})
	}
}

// drainAndKill stops a worker that dies of it, and whose leftover is killed by a second stop
// signal.
func drainAndKill(t *testing.T, l harness.Launch) {
	dir := t.TempDir()
	l.Args = harness.Line([]string{harness.LongGrace}, harness.Script(`
		say open(my $f, ">", "$ARGV[0]/file") ? "writable" : "read-only";
		spawn { $name = "child"; catch "TERM"; say "ready"; forever };
		forever`, dir)...)
	p := harness.Run(t, l)
	p.WaitOut(`^ready`)
	if l.Setup.ReadOnly {
		p.WaitOut(`^read-only`)
	}
	p.Signal(syscall.SIGTERM)
	p.WaitOut(`^child got TERM`)
	harness.PastTheSameRequest(p)
	p.Signal(syscall.SIGTERM)
	p.WantExit(143)
	p.WantCount("child got TERM", 1)
	p.WantLogged(`second stop signal, force-stop: killing `, 1)
	p.WantNothingLeft()
}

// The Go runtime interrupts drainit's own threads by URG, all the time.
func TestSIGURGIsForNoProcess(t *testing.T) {
	harness.Need(t, "perl")
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Script(`
			spawn { $name = "child"; catch "URG"; $SIG{TERM} = "DEFAULT"; forever };
			catch "URG", "USR1", "TERM"; say "ready"; await "TERM"; exit 2`)})
		p.WaitOut(`^ready`)
		for range 2000 {
			p.Signal(syscall.SIGURG)
		}
		p.Signal(syscall.SIGUSR1)
		p.WaitOut(`^worker got USR1`)
		p.Signal(syscall.SIGTERM)
		p.WantExit(2)
		for _, who := range []string{"worker", "child"} {
			p.WantCount(who+" got URG", 0)
		}
	})
}

func TestNothingSurvivesAKilledPID1(t *testing.T) {
	harness.Need(t, "perl")
	p := harness.Start(t, harness.Script(harness.Stubborn)...)
	p.WaitOut(`^ready`)
	p.Signal(syscall.SIGKILL)
	p.WantExit(137)
	p.WantNothingLeft()
}

func TestFullProcessTableAtTheStartGives125(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Bin: harness.WorkerBin, Args: []string{"noforks", harness.DrainitBin, "--", "true"}})
		p.WantExit(125)
		p.WantLogged(`"error".*cannot run \\"true\\": the limit of processes is reached`, 1)
		p.WantLogged(`^.+$`, 1)
	})
}

// A thread that the Go runtime could not start would end drainit, and PID 1
// with it: nothing that a stop needs may need another one.
func TestWorkerThatFillsTheProcessTableIsKilledAtTheGrace(t *testing.T) {
	harness.Need(t, "perl")
	harness.NeedRoot(t)
	for name, stderr := range map[string]func(*testing.T) *os.File{
		"with a log":             func(*testing.T) *os.File { return nil },
		"with a log that blocks": harness.FullPipe,
	} {
		t.Run(name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) { fillTable(t, noPID1, stderr(t)) })
		})
	}
}

func fillTable(t *testing.T, noPID1 bool, stderr *os.File) {
	p := harness.Run(t, harness.Launch{NoPID1: noPID1, Stderr: stderr, Setup: harness.Setup{UID: harness.OwnUID(), MaxProcs: 100},
		Args: harness.Line([]string{"-v", "--grace", "1s"}, harness.Script(`
			$SIG{TERM} = "IGNORE"; catch "USR1"; $SIG{TSTP} = $SIG{CONT} = sub { };
			while (defined(my $pid = fork)) { if (!$pid) { $SIG{USR1} = $SIG{TSTP} = "IGNORE"; forever } }
			say "full"; forever`)...)})
	p.WaitOut(`^full`)
	for range 20 {
		for _, sig := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGURG, syscall.SIGWINCH} {
			p.Signal(sig)
		}
	}
	p.WaitOut(`^worker got USR1`)
	p.Signal(syscall.SIGTERM)
	p.WantExit(137)
	p.WantNothingLeft()
}

// Signals that are sent to drainit, one of each kind that it can catch, never
// end it by themselves.
func TestNoCatchableSignalEndsDrainit(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", harness.WorkerBin, "listen", "-catch", "all", "-exit", "8"}})
		p.WaitReady()
		last := syscall.Signal(64)
		for sig := syscall.Signal(1); sig <= last; sig++ {
			switch sig {
			case syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGPROF, 32, 33, 34:
				continue // they stop it, or can't be handled
			}
			p.Signal(sig)
		}
		p.WaitOut(`^got SIGRTMIN\+` + strconv.Itoa(int(last)-34) + `$`)
		p.Signal(syscall.SIGTERM)
		p.WantExit(8)
	})
}

// A worker may fill the process table: what drainit needs of threads is there from the moment
// its title says that the worker runs, whatever it has to do later.
func TestThreadsAreThereWhenTheWorkerRuns(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		_, stderr := harness.Pipe(t) // which no process reads
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Stderr: stderr, Args: harness.Line([]string{"-v"}, harness.Script(`
			catch "TERM"; catch "HUP"; $SIG{USR1} = $SIG{ALRM} = $SIG{TSTP} = $SIG{CONT} = sub { };
			say "ready"; await "TERM"; await "HUP"; POSIX::_exit(7)`)...)}) // perl's own exit takes away the handlers
		p.WaitReady()
		p.WaitTitle("drainit:run")
		before := harness.StatusField(t, p.Pid(), "Threads")
		for range 200 {
			for _, sig := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGWINCH, syscall.SIGALRM} {
				p.Signal(sig)
			}
		}
		p.Signal(unix.SIGTERM)
		p.WaitTitle("drainit:drain")
		if now := harness.StatusField(t, p.Pid(), "Threads"); now > before {
			t.Errorf("%d threads, %d when the title said that the worker runs", now, before)
		}
		p.Signal(unix.SIGHUP)
		p.WantExit(7)
	})
}
