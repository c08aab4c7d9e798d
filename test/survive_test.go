package test

import (
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// needRoot skips a test that changes to another user, which a user namespace
// with one user in it can't.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		skip(t, "needs root, to become another user")
	}
}

// fullPipe is a pipe that has no room left, and that is not read.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	_, w := pipe(t)
	size, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize())
	if err == nil {
		_, err = w.Write(make([]byte, size))
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func brokenPipe(t *testing.T) *os.File {
	t.Helper()
	r, w := pipe(t)
	r.Close()
	return w
}

func devFull(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// badStderr are the ways in which standard error takes no line.
var badStderr = map[string]func(t *testing.T) Launch{
	"a full pipe":   func(t *testing.T) Launch { return Launch{Stderr: fullPipe(t)} },
	"a broken pipe": func(t *testing.T) Launch { return Launch{Stderr: brokenPipe(t)} },
	"a full disk":   func(t *testing.T) Launch { return Launch{Stderr: devFull(t)} },
	"closed":        func(*testing.T) Launch { return Launch{Setup: Setup{CloseStderr: true}} },
}

// talkative makes drainit write more lines than it queues. It keeps its handlers to its very
// end: a USR1 that waited behind the TERM is none to die of.
const talkative = `
waitpid spawn { spawn { } for 1 .. 500 }, 0;
catch "USR1", "TERM"; say "ready"; await "TERM"; nap 0.3; say "drained"; POSIX::_exit(7)`

func TestLogThatIsNotTakenChangesNothing(t *testing.T) {
	need(t, "perl")
	for name, how := range badStderr {
		t.Run(name, func(t *testing.T) {
			waitingModes(t, func(t *testing.T, noPID1 bool) {
				l := how(t)
				l.NoPID1, l.Args = noPID1, line([]string{"-v", "-w"}, script(talkative)...)
				drainUnheard(t, launch(t, l))
			})
		})
	}
}

func drainUnheard(t *testing.T, p *Init) {
	p.waitOut(`^ready`)
	waitUntil(t, "all orphans have been waited for", func() bool { return len(childrenOf(p.Pid())) == 1 })
	for range 200 {
		p.signal(syscall.SIGUSR1)
	}
	p.waitOut(`^worker got USR1`)
	p.signal(syscall.SIGTERM)
	p.waitOut(`^drained`)
	drained := time.Now()
	p.wantExit(7)
	wantTook(t, drained, 0, 10*time.Second)
	p.wantCount("worker got TERM", 1)
	p.wantNothingLeft()
}

// tellsLeftover is a worker that exits on TERM, and leaves a child that was
// not signalled and drains.
const tellsLeftover = `
$SIG{TERM} = sub { say "worker got TERM"; exit 3 };
spawn { $name = "child"; catch "TERM"; say "ready"; await "TERM"; nap 1.5; say "drained" };
forever`

// withoutProc runs a test as PID 1 with no /proc, and with one whose pids mean
// other processes.
func withoutProc(t *testing.T, test func(t *testing.T, setup Setup)) {
	t.Helper()
	need(t, "perl")
	t.Parallel()
	for _, proc := range []string{"none", "foreign"} {
		t.Run(proc, func(t *testing.T) {
			t.Parallel()
			test(t, Setup{Proc: proc})
		})
	}
}

func TestWithoutProcWorkerAndLeftoverAreSignalledOnceAndDrain(t *testing.T) {
	withoutProc(t, func(t *testing.T, setup Setup) {
		p := launch(t, Launch{Setup: setup, Args: line([]string{"--grace", "60s"}, script(tellsLeftover)...)})
		p.waitOut(`^ready`)
		p.signal(syscall.SIGTERM)
		p.wantExit(3)
		for _, want := range []string{"worker got TERM", "child got TERM", "drained"} {
			p.wantCount(want, 1)
		}
		p.wantNothingLeft()
	})
}

func TestWithoutProcLeftoverOfAWorkerThatExitsIsSignalled(t *testing.T) {
	withoutProc(t, func(t *testing.T, setup Setup) {
		stdin, exit := pipe(t)
		hold, release := pipe(t)
		p := launch(t, Launch{Setup: setup, Stdin: stdin, Files: []*os.File{hold},
			Args: line([]string{"--grace", "60s"}, script(leavesChild, "1.5")...)})
		p.waitOut(`^ready`)
		exit.Close()
		p.waitOut(`^child got TERM`)
		release.Close()
		p.wantExit(5)
		p.wantCount("child got TERM", 1)
		p.wantCount("drained", 1)
		p.wantLogged(`exited with status 5 and left what /proc does not show, SIGKILL in 30s`, 1)
	})
}

func TestWithoutProcTheGraceKillsEverything(t *testing.T) {
	withoutProc(t, func(t *testing.T, setup Setup) {
		p := launch(t, Launch{Setup: setup, Args: line([]string{"--grace", "500ms"}, script(stubborn)...)})
		p.waitOut(`^ready`)
		p.signal(syscall.SIGTERM)
		p.wantExit(137)
		p.wantLogged(`grace period of 500ms over: killing everything that is left`, 1)
		p.wantNothingLeft()
	})
}

func TestWithoutProcSecondStopSignalForceStops(t *testing.T) {
	withoutProc(t, func(t *testing.T, setup Setup) {
		p := launch(t, Launch{Setup: setup, Args: line([]string{"--grace", "60s"}, script(stubborn)...)})
		p.waitOut(`^ready`)
		p.signal(syscall.SIGTERM)
		p.waitErr(`what still runs after`)
		pastTheSameRequest()
		p.signal(syscall.SIGTERM)
		p.wantExit(137)
		p.wantNothingLeft()
	})
}

// surroundings are where a container may run drainit.
var surroundings = map[string]Launch{
	"a read-only root":               {Setup: Setup{ReadOnly: true}},
	"an ordinary user":               {Setup: Setup{UID: 65534}},
	"an ordinary user, not as PID 1": {Setup: Setup{UID: 65534}, NoPID1: true},
	"an ordinary user, no /proc":     {Setup: Setup{UID: 65534, Proc: "none", ReadOnly: true}},
}

func TestDrainAndKillWorkAnywhere(t *testing.T) {
	need(t, "perl")
	t.Parallel()
	for name, l := range surroundings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if l.Setup.UID != 0 {
				needRoot(t)
			}
			drainAndKill(t, l)
		})
	}
}

// drainAndKill drains a worker whose leftover is killed at the grace.
func drainAndKill(t *testing.T, l Launch) {
	dir := t.TempDir()
	l.Args = line([]string{"--grace", "3s"}, script(`
		say open(my $f, ">", "$ARGV[0]/file") ? "writable" : "read-only";
		$SIG{TERM} = sub { say "worker got TERM"; exit 3 };
		spawn { $name = "child"; catch "TERM"; say "ready"; forever };
		forever`, dir)...)
	p := launch(t, l)
	p.waitOut(`^ready`)
	if l.Setup.ReadOnly {
		p.waitOut(`^read-only`)
	}
	p.signal(syscall.SIGTERM)
	p.wantExit(3)
	p.wantCount("worker got TERM", 1)
	p.wantCount("child got TERM", 1)
	p.wantLogged(`grace period of 3s over: killing `, 1)
	p.wantNothingLeft()
}

// The Go runtime interrupts drainit's own threads by URG, all the time.
func TestSIGURGIsForNoProcess(t *testing.T) {
	need(t, "perl")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: script(`
			spawn { $name = "child"; catch "URG"; $SIG{TERM} = "DEFAULT"; forever };
			catch "URG", "USR1", "TERM"; say "ready"; await "TERM"; exit 2`)})
		p.waitOut(`^ready`)
		for range 2000 {
			p.signal(syscall.SIGURG)
		}
		p.signal(syscall.SIGUSR1)
		p.waitOut(`^worker got USR1`)
		p.signal(syscall.SIGTERM)
		p.wantExit(2)
		for _, who := range []string{"worker", "child"} {
			p.wantCount(who+" got URG", 0)
		}
	})
}

func TestNothingSurvivesAKilledPID1(t *testing.T) {
	need(t, "perl")
	p := start(t, script(stubborn)...)
	p.waitOut(`^ready`)
	p.signal(syscall.SIGKILL)
	p.wantExit(137)
	p.wantNothingLeft()
}

// ownUID is a user that has no other process: RLIMIT_NPROC counts them all.
func ownUID() int { return 54000 + int(launches.Add(1)) }

func TestFullProcessTableAtTheStartGives125(t *testing.T) {
	bothModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Bin: workerBin, Args: []string{"noforks", drainitBin, "--", "true"}})
		p.wantExit(125)
		p.wantLogged(`"error".*cannot run \\"true\\": the limit of processes is reached`, 1)
		p.wantLogged(`^.+$`, 1)
	})
}

// A thread that the Go runtime could not start would end drainit, and PID 1
// with it: nothing that a stop needs may need another one.
func TestWorkerThatFillsTheProcessTableIsKilledAtTheGrace(t *testing.T) {
	need(t, "perl")
	needRoot(t)
	for name, stderr := range map[string]func(*testing.T) *os.File{
		"with a log":             func(*testing.T) *os.File { return nil },
		"with a log that blocks": fullPipe,
	} {
		t.Run(name, func(t *testing.T) {
			waitingModes(t, func(t *testing.T, noPID1 bool) { fillTable(t, noPID1, stderr(t)) })
		})
	}
}

func fillTable(t *testing.T, noPID1 bool, stderr *os.File) {
	p := launch(t, Launch{NoPID1: noPID1, Stderr: stderr, Setup: Setup{UID: ownUID(), MaxProcs: 100},
		Args: line([]string{"-v", "--grace", "1s"}, script(`
			$SIG{TERM} = "IGNORE"; catch "USR1"; $SIG{TSTP} = $SIG{CONT} = sub { };
			while (defined(my $pid = fork)) { if (!$pid) { $SIG{USR1} = $SIG{TSTP} = "IGNORE"; forever } }
			say "full"; forever`)...)})
	p.waitOut(`^full`)
	for range 20 {
		for _, sig := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGURG, syscall.SIGWINCH} {
			p.signal(sig)
		}
	}
	p.waitOut(`^worker got USR1`)
	p.signal(syscall.SIGTERM)
	p.wantExit(137)
	p.wantNothingLeft()
}

// Signals that are sent to drainit, one of each kind that it can catch, never
// end it by themselves.
func TestNoCatchableSignalEndsDrainit(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: []string{"--", workerBin, "listen", "-catch", "all", "-exit", "8"}})
		p.waitOut(`^ready`)
		last := syscall.Signal(64)
		for sig := syscall.Signal(1); sig <= last; sig++ {
			switch sig {
			case syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGPROF, 32, 33, 34:
				continue // they stop it, or can't be handled
			}
			p.signal(sig)
		}
		p.waitOut(`^got SIGRTMIN\+` + strconv.Itoa(int(last)-34) + `$`)
		p.signal(syscall.SIGTERM)
		p.wantExit(8)
	})
}
