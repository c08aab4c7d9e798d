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
// end: a USR1 that waited after the TERM is none to die of.
const talkative = `
waitpid spawn { spawn { } for 1 .. 300 }, 0;
catch "USR1", "TERM"; say "ready"; await "TERM"; nap 0.3; say "drained"; POSIX::_exit(7)`

func TestLogThatIsNotTakenChangesNothing(t *testing.T) {
	harness.Need(t, "perl")
	t.Parallel()
	for name, how := range harness.BadStderr {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := how(t)
			l.Args = harness.Line([]string{"-v", "-w", harness.LongGrace}, harness.Script(talkative)...)
			p := harness.Run(t, l)
			p.WaitOut(`^ready`)
			harness.WaitUntil(t, "all orphans have been waited for", func() bool { return len(harness.ChildPids(p.Pid())) == 1 })
			for range 200 {
				p.Signal(syscall.SIGUSR1)
			}
			p.WaitOut(`^worker got USR1`)
			p.Signal(syscall.SIGTERM)
			p.WaitOut(`^drained`)
			p.WantExit(7)
			p.WantCount("worker got TERM", 1)
			p.WantNothingLeft()
		})
	}
}

// leavesOnTERM is a worker that exits on TERM, and leaves a child that was
// not signalled and drains.
const leavesOnTERM = `
$SIG{TERM} = sub { say "worker got TERM"; exit 3 };
spawn { $name = "child"; catch "TERM"; say "ready"; await "TERM"; nap 1.5; say "drained" };
forever`

// With no /proc, and with one whose pids mean other processes, PID 1 signals and kills what it
// can't see.
func TestWithoutProc(t *testing.T) {
	harness.Need(t, "perl")
	t.Parallel()
	term := func(p *harness.Init, _ *os.File) { p.Signal(syscall.SIGTERM) }
	for _, tt := range []struct {
		name   string
		grace  string
		worker []string
		begin  func(p *harness.Init, input *os.File)
		status int
		once   []string // what the workers print
		logged string
	}{
		{"a leftover drains", "60s", harness.Script(leavesOnTERM), term, 3,
			[]string{"worker got TERM", "child got TERM", "drained"}, ``},
		{"a worker exits", "60s", harness.Script(harness.LeavesChild, "1.5"), func(_ *harness.Init, input *os.File) { input.Close() }, 5,
			[]string{"child got TERM", "drained"}, `exited with status 5 and left what /proc does not show, SIGKILL in 30s`},
		{"the grace ends", "500ms", harness.Script(harness.Stubborn), term, 137, nil, `grace period of 500ms over: killing what is left`},
	} {
		for _, proc := range []string{"none", "foreign"} {
			t.Run(tt.name+", "+proc, func(t *testing.T) {
				t.Parallel()
				input, w := harness.Pipe(t)
				hold, release := harness.Pipe(t)
				p := harness.Run(t, harness.Launch{Setup: harness.Setup{Proc: proc}, Stdin: input, Files: []*os.File{hold},
					Args: harness.Line([]string{"--grace", tt.grace}, tt.worker...)})
				p.WaitOut(`^ready`)
				tt.begin(p, w)
				if tt.once != nil {
					p.WaitOut(`^child got TERM`)
				}
				release.Close()
				p.WantExit(tt.status)
				for _, line := range tt.once {
					p.WantCount(line, 1)
				}
				if tt.logged != "" {
					p.WantLogged(tt.logged, 1)
				}
				p.WantNothingLeft()
			})
		}
	}
}

// Where orphans do not come to drainit a worker drains as ever, and what it leaves lives on: qemu-user and a
// seccomp profile may refuse the call.
func TestWithoutASubreaperTheWorkerDrains(t *testing.T) {
	harness.Need(t, "perl")
	t.Parallel()
	p := harness.Run(t, harness.Launch{NoPID1: true, Bin: harness.WorkerBin, Args: append([]string{"nocall", strconv.Itoa(unix.SYS_PRCTL), harness.DrainitBin},
		harness.Line([]string{harness.LongGrace}, harness.Script(`spawn { $name = "child"; catch "TERM"; say "ready $$"; forever }; catch "TERM"; await "TERM"; exit 7`)...)...)})
	child := p.ReadyPid(`^ready`)
	p.Signal(syscall.SIGTERM)
	p.WaitErr(`"msg":"stopped after .*exited with status 7"`)
	harness.Kill(t, child, syscall.SIGKILL) // it holds the pipes
	p.WantExit(7)
	p.WantLogged(`"warn".*cannot adopt orphans here, so what the worker leaves is neither waited for nor signalled`, 1)
	p.WantCount("child got TERM", 0)
}

func TestFullProcessTableAtTheStartGives125(t *testing.T) {
	p := harness.Run(t, harness.Launch{Bin: harness.WorkerBin, Args: []string{"noforks", harness.DrainitBin, "--", "true"}})
	p.WantExit(125)
	p.WantLogged(`"error".*cannot run \\"true\\": the limit of processes is reached`, 1)
	p.WantLogged(`^.+$`, 1)
}

// A thread that the Go runtime could not start would end drainit, and PID 1
// with it: nothing that a stop needs may need another one, not even with a log that blocks.
func TestWorkerThatFillsTheProcessTableIsKilledAtTheGrace(t *testing.T) {
	harness.Need(t, "perl")
	harness.NeedRoot(t)
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Stderr: harness.FullPipe(t), Setup: harness.Setup{UID: harness.OwnUID(), MaxProcs: 100},
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
	})
}
