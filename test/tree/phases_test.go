package tree

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

func TestWorkerIsSignalledOnceAndDrains(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", harness.WorkerBin, "listen", "-drain", "300ms", "-exit", "7"}})
		p.WaitOut(`^ready`)
		p.Signal(syscall.SIGTERM)
		p.WantExit(7)
		p.WantNothingLeft()
		if !strings.HasSuffix(p.Out(), "\ngot SIGTERM\ndrained\n") {
			t.Errorf("the worker printed %q", p.Out())
		}
	})
}

// The child drains for 2.5 s after its release: long enough to be signalled again
// by whatever looks at the leftovers each second. A stop signal meanwhile begins the grace period
// anew, and signals it no second time either.
func TestWhatAWorkerLeavesIsNamedAtOnceSignalledOnceAndDrains(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p, release := harness.Leaving(t, noPID1, "--grace", "60s")
		p.WaitErr(`perl\[\d+\] exited with status 5 and left 1 process \(perl\[\d+\]\).*"left_s":30[,}]`)
		p.WaitOut(`^child got TERM`)
		p.Signal(syscall.SIGTERM)
		p.WaitErr(`the grace period starts now.*"left_s":60[,}]`)
		release()
		p.WantExit(5)
		p.WantCount("drained", 1)
		p.WantCount("child got TERM", 1)
		p.WantLogged(`and left 1 process`, 1)
		p.WantLogged(harness.KillLine+`|force`, 0)
	})
}

// What reads a pipe ends by itself when its input has ended, though it works for some time yet.
func TestReaderOutlivesAWorkerThatExitsByItself(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		release := filepath.Join(t.TempDir(), "release")
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Env: []string{"RELEASE=" + release}, Args: harness.Line([]string{"-v"}, "bash", "-c", `
			exec perl -e '$| = 1; print "line\n" x 1000; select undef, undef, undef, 0.001 until -e "$ENV{RELEASE}.read"; exit 5' > >(
			exec perl -e '@l = scalar <STDIN>; open F, ">", "$ENV{RELEASE}.read"; push @l, <STDIN>; select undef, undef, undef, 0.001 until -e $ENV{RELEASE}; print @l, "whole\n"')`)})
		p.WaitErr(`not signalled: \S+: it has read a pipe of a process that has gone`)
		harness.WriteFile(t, release, nil)
		p.WantExit(5)
		p.WantCount("line", 1000)
		p.WantCount("whole", 1)
		p.WantLogged(`sent SIGTERM`, 0)
	})
}

func TestSecondStopSignalForceStops(t *testing.T) {
	harness.Need(t, "perl")
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--grace", "60s"}, harness.Script(harness.Stubborn)...)})
		p.WaitOut(`^ready`)
		p.Signal(syscall.SIGTERM)
		p.WaitErr(`what still runs after 1m0s`)
		harness.PastTheSameRequest(p)
		p.Signal(syscall.SIGINT)
		p.WantExit(137)
		p.WantLogged(`second stop signal, force-stop: killing (perl\[\d+\] \([a-z ]+, \d+\.\ds old\)(, )?){3}; with --second-stop ignore only drainit stop --force does so"`, 1)
		p.WantNothingLeft()
	})
}

// Both signals are there when drainit looks: stopped until then, it can't tell
// how far apart they came, and the machine's speed does not matter.
func TestStopSignalsThatComeTogetherAreOneRequest(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--grace", "60s", "--", harness.WorkerBin, "listen", "-catch", "TERM,INT", "-end", "TERM,INT", "-drain", "500ms"}})
		p.WaitOut(`^ready`)
		harness.Freeze(t, p.Pid())
		p.Signal(syscall.SIGTERM)
		p.Signal(syscall.SIGINT)
		p.Signal(syscall.SIGCONT)
		p.WantExit(0)
		p.WantLogged(`: treated as one request`, 1)
		if signalled := harness.Gots(p.Out()); len(signalled) != 1 {
			t.Errorf("the worker %q", signalled)
		}
	})
}

func TestStopDelayQuietsAtOnceAndTellsWhenItIsOver(t *testing.T) {
	harness.Usual(t)
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--stop-delay", "1s", "--", harness.WorkerBin, "listen", "-catch", "TERM,TSTP"}})
		p.WaitOut(`^ready`)
		began := time.Now()
		p.Signal(syscall.SIGTERM)
		p.WaitOut(`^got SIGTSTP\n`)
		p.WaitOut(`^got SIGTERM\n`)
		harness.WantTookAtLeast(t, began, time.Second)
		p.WantExit(0)
		p.WantLogged(`the stop delay is over: SIGTERM sent to worker\[\d+\]`, 1)
		if got := fmt.Sprint(harness.Gots(p.Out())); got != "[got SIGTSTP got SIGTERM]" {
			t.Errorf("the worker %s", got)
		}
	})
}

// With -c drainit ends when its worker does, as tini, catatonit and dumb-init -c do: with the
// worker's status, at once, and nothing that it leaves outlives it, though it ignores TERM.
func TestWorkerModeEndsWithTheWorker(t *testing.T) {
	harness.Need(t, "perl")
	for name, tt := range map[string]struct {
		worker string
		status int
	}{
		"which exits with 0":         {`hold 0; exit 0`, 0},
		"which exits with 3 on TERM": {`catch "TERM"; say "ready"; await "TERM"; exit 3`, 3},
		"which dies of TERM":         {`say "ready"; forever`, 143},
	} {
		t.Run(name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				stdin, exit := harness.Pipe(t)
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Stdin: stdin, Args: harness.Line([]string{"-c", harness.LongGrace}, harness.Script(
					`spawn { $name = "child"; $SIG{TERM} = "IGNORE"; POSIX::setsid(); say "child ready"; forever }; `+tt.worker)...)})
				p.WaitOut(`^child ready`)
				if tt.status == 0 {
					exit.Close()
				} else {
					p.WaitOut(`^ready`)
					p.Signal(unix.SIGTERM)
				}
				p.WantExit(tt.status)
				p.WantNothingLeft()
			})
		})
	}
}
