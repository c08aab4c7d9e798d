package tree

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"drainit/test/harness"
)

// A grace is a bound, never a sleep: these graces are twice the tests' patience.
func TestDrainitLeavesTheMomentNothingIsLeft(t *testing.T) {
	harness.Need(t, "perl")
	for name, worker := range map[string]string{
		"the worker exits":              `catch "TERM"; say "ready"; await "TERM"; exit 3`,
		"the worker dies of the signal": `say "ready"; forever`,
		"a leftover is signalled and exits": `
			spawn { $name = "child"; catch "TERM"; say "ready"; await "TERM" };
			forever`,
		"a leftover is signalled and dies": `spawn { forever }; $SIG{TERM} = sub { exit 3 }; say "ready"; forever`,
	} {
		t.Run(name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--grace", "60s"}, harness.Script(worker)...)})
				p.WaitOut(`^ready`)
				p.Signal(syscall.SIGTERM)
				if status := p.Wait(); status != 3 && status != 143 {
					t.Errorf("exit status %d", status)
				}
				p.WantNothingLeft()
			})
		})
	}
}

// The child drains for 2.5 s after its release: long enough to be signalled again
// by whatever looks at the leftovers each second.
func TestWhatAWorkerLeavesIsNamedAtOnceSignalledOnceAndDrains(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p, release := harness.Leaving(t, noPID1, "--grace", "60s")
		p.WaitErr(`perl\[\d+\] exited with status 5 and left 1 process \(perl\[\d+\]\).*"left_s":30}`)
		p.WaitOut(`^child got TERM`)
		release()
		p.WantExit(5)
		p.WantCount("drained", 1)
		p.WantCount("child got TERM", 1)
		p.WantLogged(`and left 1 process`, 1)
		p.WantLogged(harness.KillLine, 0)
	})
}

func TestStopSignalAfterTheWorkerHasGoneIsTheFirst(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p, release := harness.Leaving(t, noPID1, "--grace", "60s")
		p.WaitOut(`^child got TERM`)
		p.Signal(syscall.SIGTERM)
		p.WaitErr(`the grace period starts now.*"left_s":60}`)
		release()
		p.WantExit(5)
		p.WantCount("drained", 1)
		p.WantCount("child got TERM", 1)
		p.WantLogged(harness.KillLine+`|force`, 0)
	})
}

func TestTheNextStopSignalAfterThatForceStops(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p, _ := harness.Leaving(t, noPID1, "--grace", "60s")
		harness.StopLeavingTwice(p)
		p.WantExit(5)
		p.WantCount("drained", 0)
		p.WantLogged(`second stop signal, force-stop: killing perl\[\d+\] \(sleeping, `, 1)
		p.WantNothingLeft()
	})
}

func TestLeftoverIsKilledWhenTheGraceIsOver(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		began := time.Now()
		p, _ := harness.Leaving(t, noPID1, "--grace", "1s")
		p.WantExit(5)
		harness.WantTookAtLeast(t, began, time.Second)
		p.WantLogged(`grace period of 1s over: killing perl\[\d+\] \(sleeping, `, 1)
		p.WantNothingLeft()
	})
}

// The platform would never restart a crashed worker whose child is stuck. Both
// modes run at the same time: this takes 30 s.
func TestCrashWithAStuckLeftoverUnderAnInfiniteGraceEnds(t *testing.T) {
	harness.Full(t)
	harness.Need(t, "perl")
	t.Parallel()
	began := time.Now()
	var both []*harness.Init
	for _, noPID1 := range []bool{false, true} {
		both = append(both, harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--grace", "infinity"}, harness.Script(`
			$SIG{TERM} = "IGNORE"; spawn { forever }; kill ABRT => $$`)...)}))
	}
	for _, p := range both {
		p.WaitErr(`and left 1 process .*SIGKILL in 30s`)
		select {
		case <-p.Done:
		case <-time.After(30*time.Second + harness.Patience):
		}
		p.WantExit(128 + int(syscall.SIGABRT))
		harness.WantTookAtLeast(t, began, 30*time.Second)
		p.WantLogged(`grace period of 30s over: killing perl`, 1)
		p.WantNothingLeft()
	}
}

func TestGraceOverKillsTheWholeTreeAndNamesIt(t *testing.T) {
	harness.Need(t, "perl")
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--grace", "1s"}, harness.Script(harness.Stubborn)...)})
		p.WaitOut(`^ready`)
		began := time.Now()
		p.Signal(syscall.SIGTERM)
		p.WantExit(137)
		harness.WantTookAtLeast(t, began, time.Second)
		p.WantLogged(`grace period of 1s over: killing (perl\[\d+\] \([a-z ]+, \d+\.\ds old\)(, )?){3}"`, 1)
		p.WantNothingLeft()
	})
}

func TestSecondStopSignalForceStops(t *testing.T) {
	harness.Need(t, "perl")
	for _, second := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(second.String(), func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--grace", "60s"}, harness.Script(harness.Stubborn)...)})
				p.WaitOut(`^ready`)
				p.Signal(syscall.SIGTERM)
				p.WaitErr(`what still runs after 1m0s`)
				harness.PastTheSameRequest()
				p.Signal(second)
				p.WantExit(137)
				p.WantLogged(`second stop signal, force-stop: killing (perl\[\d+\] \([a-z ]+, \d+\.\ds old\)(, )?){3}"`, 1)
				p.WantNothingLeft()
			})
		})
	}
}

// Both signals are there when drainit looks: stopped until then, it can't tell
// how far apart they came, and the machine's speed does not matter.
func TestStopSignalsThatComeTogetherAreOneRequest(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--grace", "60s", "--", harness.WorkerBin, "listen", "-catch", "TERM,INT", "-end", "TERM,INT", "-drain", "500ms"}})
		p.WaitOut(`^ready`)
		p.Signal(syscall.SIGSTOP)
		harness.WaitUntil(t, "drainit is stopped", func() bool { return harness.StateOf(p.Pid()) == 'T' })
		p.Signal(syscall.SIGTERM)
		p.Signal(syscall.SIGINT)
		p.Signal(syscall.SIGCONT)
		p.WantExit(0)
		p.WantLogged(`: treated as one request`, 1)
		if signalled := strings.Count(p.Out(), "got SIG"); signalled != 1 {
			t.Errorf("the worker was signalled %d times: %s", signalled, p.Out())
		}
	})
}

func TestGraceOfZeroKillsAtOnceAndAsksNoProcess(t *testing.T) {
	harness.Need(t, "perl")
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--grace", "0"}, harness.Script(`
			catch "TERM"; spawn { $name = "child"; say "ready"; forever }; forever`)...)})
		p.WaitOut(`^ready`)
		p.Signal(syscall.SIGTERM)
		p.WantExit(137)
		p.WantLogged(`grace period of 0s over: killing perl\[\d+\].*, perl\[\d+\]`, 1)
		if strings.Contains(p.Out(), "got TERM") {
			t.Errorf("signalled: %s", p.Out())
		}
		p.WantNothingLeft()
	})
}

func TestGraceOfZeroKillsWhatAWorkerLeaves(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p, _ := harness.Leaving(t, noPID1, "--grace", "0")
		p.WantExit(5)
		p.WantCount("child got TERM", 0)
		p.WantNothingLeft()
	})
}

func TestInfiniteGraceWaitsForTheDrain(t *testing.T) {
	harness.Usual(t)
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--grace", "infinity", "--", harness.WorkerBin, "listen", "-drain", "1s", "-exit", "4"}})
		p.WaitOut(`^ready`)
		p.Signal(syscall.SIGTERM)
		p.WaitErr(`no SIGKILL: the grace period is infinite`)
		p.WantExit(4)
		p.WantCount("drained", 1)
		p.WantLogged(harness.KillLine, 0)
	})
}

// 0 would say that all went well, though a leftover was killed at its work.
func TestKilledLeftoverTurnsOnlyAStatusOfZeroInto137(t *testing.T) {
	harness.Need(t, "perl")
	for worker, want := range map[string]int{"0": 137, "7": 7} {
		t.Run(worker, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{harness.LongGrace}, harness.Script(`
					$SIG{TERM} = sub { exit shift @ARGV };
					spawn { $SIG{TERM} = "IGNORE"; say "ready"; forever };
					forever`, worker)...)})
				p.WaitOut(`^ready`)
				p.Signal(syscall.SIGTERM)
				p.WaitTitle("drainit:ended")
				harness.PastTheSameRequest()
				p.Signal(syscall.SIGTERM)
				p.WantExit(want)
				p.WantLogged(`force-stop: killing perl\[\d+\]`, 1)
				p.WantNothingLeft()
			})
		})
	}
}

// quietable is a worker that can be quieted, and says what it gets.
func quietable(t *testing.T, noPID1 bool, flags ...string) *harness.Init {
	t.Helper()
	p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line(flags, harness.WorkerBin, "listen", "-catch", "TERM,TSTP,INT", "-end", "TERM,INT")})
	p.WaitOut(`^ready`)
	return p
}

func TestStopDelayQuietsAtOnceAndTellsWhenItIsOver(t *testing.T) {
	harness.Usual(t)
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := quietable(t, noPID1, "--stop-delay", "1s")
		began := time.Now()
		p.Signal(syscall.SIGTERM)
		p.WaitOut(`^got SIGTSTP\n`)
		p.WaitOut(`^got SIGTERM\n`)
		harness.WantTookAtLeast(t, began, time.Second)
		p.WantExit(0)
		if got := regexp.MustCompile(`got \w+`).FindAllString(p.Out(), -1); strings.Join(got, " ") != "got SIGTSTP got SIGTERM" {
			t.Errorf("the worker got %q", got)
		}
	})
}

// These delays are longer than the tests' patience.
func TestSecondStopSignalInTheStopDelayForceStops(t *testing.T) {
	harness.Usual(t)
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := quietable(t, noPID1, "--grace", "90s", "--stop-delay", "60s")
		p.Signal(syscall.SIGTERM)
		p.WaitOut(`^got SIGTSTP\n`)
		p.WaitErr(`what still runs after 1m30s`)
		harness.PastTheSameRequest()
		p.Signal(syscall.SIGTERM)
		p.WantExit(137)
		p.WantCount("got SIGTERM", 0)
	})
}

func TestStopDelayIsForARunningWorkerOnly(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := quietable(t, noPID1, "--grace", "90s", "--stop-delay", "60s")
		p.Signal(syscall.SIGTSTP)
		p.WaitOut(`^got SIGTSTP\n`)
		p.Signal(syscall.SIGTERM)
		p.WantExit(0)
		p.WantCount("got SIGTSTP", 1)
		p.WantCount("got SIGTERM", 1)
	})
}

func TestStopDelayEndsWithTheGraceToo(t *testing.T) {
	harness.Usual(t)
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--grace", "2s", "--stop-delay", "200ms", "--", harness.WorkerBin, "listen", "-end", ""}})
		p.WaitOut(`^ready`)
		began := time.Now()
		p.Signal(syscall.SIGTERM)
		p.WantExit(137)
		harness.WantTookAtLeast(t, began, 2*time.Second)
		p.WantLogged(`SIGTERM sent to worker\[\d+\]`, 1)
		p.WantLogged(`grace period of 2s over: `, 1)
	})
}

// HUP stands for an image's STOPSIGNAL. A leftover that does not handle it is
// sent TERM.
func TestStopSignalByFlagBeginsTheStop(t *testing.T) {
	harness.Need(t, "perl")
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--stop-signal", "HUP"}, harness.Script(`
			my ($none, $blocked) = map { POSIX::SigSet->new(@$_) } [], [POSIX::SIGHUP(), POSIX::SIGTERM()];
			sub drain { # asleep until a signal comes: what is left is sent one as soon as the worker has gone
				POSIX::sigprocmask(POSIX::SIG_BLOCK(), $blocked);
				$name = shift; catch @_; say "$name ready";
				POSIX::sigsuspend($none) until %got;
			}
			spawn { drain("a", "HUP", "TERM") };
			spawn { drain("b", "TERM") };
			drain("worker", "HUP", "TERM"); exit 6`)...)})
		for _, name := range []string{"a", "b", "worker"} {
			p.WaitOut(`^` + name + ` ready`)
		}
		settled(p)
		p.Signal(syscall.SIGHUP)
		p.WantExit(6)
		for _, want := range []string{"worker got HUP", "a got HUP", "b got TERM"} {
			p.WantCount(want, 1)
		}
		if signalled := strings.Count(p.Out(), " got "); signalled != 3 {
			t.Errorf("signalled %d times, want 3: %s", signalled, p.Out())
		}
	})
}

func TestWorkerIsSignalledOnceAndDrains(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", harness.WorkerBin, "listen", "-drain", "300ms", "-exit", "7"}})
		p.WaitOut(`^ready`)
		p.Signal(syscall.SIGTERM)
		p.WaitOut(`^drained`)
		p.WantExit(7)
		p.WantNothingLeft()
		if !strings.HasSuffix(p.Out(), "\ngot SIGTERM\ndrained\n") {
			t.Errorf("the worker printed %q", p.Out())
		}
	})
}
