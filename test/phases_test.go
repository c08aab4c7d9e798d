package test

import (
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A grace is a bound, never a sleep: these graces are twice the tests' patience.
func TestDrainitLeavesTheMomentNothingIsLeft(t *testing.T) {
	need(t, "perl")
	for name, worker := range map[string]string{
		"the worker exits":              `catch "TERM"; say "ready"; await "TERM"; exit 3`,
		"the worker dies of the signal": `say "ready"; forever`,
		"a leftover is signalled and exits": `
			spawn { $name = "child"; catch "TERM"; say "ready"; await "TERM" };
			forever`,
		"a leftover is signalled and dies": `spawn { forever }; $SIG{TERM} = sub { exit 3 }; say "ready"; forever`,
	} {
		t.Run(name, func(t *testing.T) {
			waitingModes(t, func(t *testing.T, noPID1 bool) {
				p := launch(t, Launch{NoPID1: noPID1, Args: line([]string{"--grace", "60s"}, script(worker)...)})
				p.waitOut(`^ready`)
				p.signal(syscall.SIGTERM)
				if status := p.wait(); status != 3 && status != 143 {
					t.Errorf("exit status %d", status)
				}
				p.wantNothingLeft()
			})
		})
	}
}

// leavesChild exits by itself with status 5, when standard input ends, and
// leaves a child that drains from TERM until descriptor 3 ends.
const leavesChild = `
spawn { $name = "child"; catch "TERM", "HUP"; say "ready $$"; await "TERM"; hold 3; nap shift @ARGV; say "drained" };
hold 0; exit 5`

// leaving starts leavesChild and lets the worker exit. The function that comes
// back lets the child end its drain.
func leaving(t *testing.T, noPID1 bool, flags ...string) (p *Init, release func()) {
	t.Helper()
	need(t, "perl")
	stdin, exit := pipe(t)
	hold, free := pipe(t)
	p = launch(t, Launch{NoPID1: noPID1, Stdin: stdin, Files: []*os.File{hold}, Args: line(flags, script(leavesChild, "2.5")...)})
	p.waitOut(`^ready`)
	exit.Close()
	return p, func() { free.Close() }
}

// The child drains for 2.5 s after its release: long enough to be signalled again
// by whatever looks at the leftovers each second.
func TestWhatAWorkerLeavesIsNamedAtOnceSignalledOnceAndDrains(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p, release := leaving(t, noPID1, "--grace", "60s")
		p.waitErr(`perl\[\d+\] exited with status 5 and left 1 process \(perl\[\d+\]\).*"left_s":30}`)
		p.waitOut(`^child got TERM`)
		release()
		p.wantExit(5)
		p.wantCount("drained", 1)
		p.wantCount("child got TERM", 1)
		p.wantLogged(`and left 1 process`, 1)
		p.wantLogged(killLine, 0)
	})
}

func TestStopSignalAfterTheWorkerHasGoneIsTheFirst(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p, release := leaving(t, noPID1, "--grace", "60s")
		p.waitOut(`^child got TERM`)
		p.signal(syscall.SIGTERM)
		p.waitErr(`the grace period starts now.*"left_s":60}`)
		release()
		p.wantExit(5)
		p.wantCount("drained", 1)
		p.wantCount("child got TERM", 1)
		p.wantLogged(killLine+`|force`, 0)
	})
}

func TestTheNextStopSignalAfterThatForceStops(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p, _ := leaving(t, noPID1, "--grace", "60s")
		p.waitOut(`^child got TERM`)
		p.signal(syscall.SIGTERM)
		p.waitErr(`the grace period starts now`)
		pastTheSameRequest()
		p.signal(syscall.SIGTERM)
		p.wantExit(5)
		p.wantCount("drained", 0)
		p.wantLogged(`second stop signal, force-stop: killing perl\[\d+\] \(sleeping, `, 1)
		p.wantNothingLeft()
	})
}

func TestLeftoverIsKilledWhenTheGraceIsOver(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		began := time.Now()
		p, _ := leaving(t, noPID1, "--grace", "1s")
		p.wantExit(5)
		wantTook(t, began, time.Second, patience)
		p.wantLogged(`grace period of 1s over: killing perl\[\d+\] \(sleeping, `, 1)
		p.wantNothingLeft()
	})
}

// The platform would never restart a crashed worker whose child is stuck. Both
// modes run at the same time: this takes 30 s.
func TestCrashWithAStuckLeftoverUnderAnInfiniteGraceEnds(t *testing.T) {
	need(t, "perl")
	t.Parallel()
	began := time.Now()
	var both []*Init
	for _, noPID1 := range []bool{false, true} {
		both = append(both, launch(t, Launch{NoPID1: noPID1, Args: line([]string{"--grace", "infinity"}, script(`
			$SIG{TERM} = "IGNORE"; spawn { forever }; kill ABRT => $$`)...)}))
	}
	for _, p := range both {
		p.waitErr(`and left 1 process .*SIGKILL in 30s`)
		select {
		case <-p.done:
		case <-time.After(30*time.Second + patience):
		}
		p.wantExit(128 + int(syscall.SIGABRT))
		wantTook(t, began, 30*time.Second, 30*time.Second+patience)
		p.wantLogged(`grace period of 30s over: killing perl`, 1)
		p.wantNothingLeft()
	}
}

// stubborn is a tree of three that ignores TERM, and where each has a session
// or a group of its own.
const stubborn = `
$SIG{TERM} = "IGNORE";
spawn { setpgrp; spawn { POSIX::setsid(); say "ready"; forever }; forever };
forever`

func TestGraceOverKillsTheWholeTreeAndNamesIt(t *testing.T) {
	need(t, "perl")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: line([]string{"--grace", "1s"}, script(stubborn)...)})
		p.waitOut(`^ready`)
		began := time.Now()
		p.signal(syscall.SIGTERM)
		p.wantExit(137)
		wantTook(t, began, time.Second, patience)
		p.wantLogged(`grace period of 1s over: killing (perl\[\d+\] \([a-z ]+, \d+\.\ds old\)(, )?){3}"`, 1)
		p.wantNothingLeft()
	})
}

func TestSecondStopSignalForceStops(t *testing.T) {
	need(t, "perl")
	for _, second := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(second.String(), func(t *testing.T) {
			waitingModes(t, func(t *testing.T, noPID1 bool) {
				p := launch(t, Launch{NoPID1: noPID1, Args: line([]string{"--grace", "60s"}, script(stubborn)...)})
				p.waitOut(`^ready`)
				p.signal(syscall.SIGTERM)
				p.waitErr(`what still runs after 1m0s`)
				pastTheSameRequest()
				p.signal(second)
				p.wantExit(137)
				p.wantLogged(`second stop signal, force-stop: killing (perl\[\d+\] \([a-z ]+, \d+\.\ds old\)(, )?){3}"`, 1)
				p.wantNothingLeft()
			})
		})
	}
}

// Both signals are there when drainit looks: stopped until then, it can't tell
// how far apart they came, and the machine's speed does not matter.
func TestStopSignalsThatComeTogetherAreOneRequest(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: []string{"--grace", "60s", "--", workerBin, "listen", "-catch", "TERM,INT", "-end", "TERM,INT", "-drain", "500ms"}})
		p.waitOut(`^ready`)
		p.signal(syscall.SIGSTOP)
		waitUntil(t, "drainit is stopped", func() bool { return stateOf(p.Pid()) == 'T' })
		p.signal(syscall.SIGTERM)
		p.signal(syscall.SIGINT)
		p.signal(syscall.SIGCONT)
		p.wantExit(0)
		p.wantLogged(`is the same request, no force-stop`, 1)
		if signalled := strings.Count(p.out(), "got SIG"); signalled != 1 {
			t.Errorf("the worker was signalled %d times: %s", signalled, p.out())
		}
	})
}

func TestGraceOfZeroKillsAtOnceAndAsksNoProcess(t *testing.T) {
	need(t, "perl")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: line([]string{"--grace", "0"}, script(`
			catch "TERM"; spawn { $name = "child"; say "ready"; forever }; forever`)...)})
		p.waitOut(`^ready`)
		p.signal(syscall.SIGTERM)
		p.wantExit(137)
		p.wantLogged(`grace period of 0s over: killing perl\[\d+\].*, perl\[\d+\]`, 1)
		if strings.Contains(p.out(), "got TERM") {
			t.Errorf("signalled: %s", p.out())
		}
		p.wantNothingLeft()
	})
}

func TestGraceOfZeroKillsWhatAWorkerLeaves(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p, _ := leaving(t, noPID1, "--grace", "0")
		p.wantExit(5)
		p.wantCount("child got TERM", 0)
		p.wantNothingLeft()
	})
}

func TestInfiniteGraceWaitsForTheDrain(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: []string{"--grace", "infinity", "--", workerBin, "listen", "-drain", "2s", "-exit", "4"}})
		p.waitOut(`^ready`)
		p.signal(syscall.SIGTERM)
		p.waitErr(`no SIGKILL: the grace period is infinite`)
		p.wantExit(4)
		p.wantCount("drained", 1)
		p.wantLogged(killLine, 0)
	})
}

// 0 would say that all went well, though a leftover was killed at its work.
func TestKilledLeftoverTurnsOnlyAStatusOfZeroInto137(t *testing.T) {
	need(t, "perl")
	for worker, want := range map[string]int{"0": 137, "7": 7} {
		t.Run(worker, func(t *testing.T) {
			waitingModes(t, func(t *testing.T, noPID1 bool) {
				p := launch(t, Launch{NoPID1: noPID1, Args: line([]string{"--grace", "300ms"}, script(`
					$SIG{TERM} = sub { exit shift @ARGV };
					spawn { $SIG{TERM} = "IGNORE"; say "ready"; forever };
					forever`, worker)...)})
				p.waitOut(`^ready`)
				p.signal(syscall.SIGTERM)
				p.wantExit(want)
				p.wantNothingLeft()
			})
		})
	}
}

// quietable is a worker that can be quieted, and says what it gets.
func quietable(t *testing.T, noPID1 bool, flags ...string) *Init {
	t.Helper()
	p := launch(t, Launch{NoPID1: noPID1, Args: line(flags, workerBin, "listen", "-catch", "TERM,TSTP,INT", "-end", "TERM,INT")})
	p.waitOut(`^ready`)
	return p
}

func TestStopDelayQuietsAtOnceAndTellsWhenItIsOver(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := quietable(t, noPID1, "--stop-delay", "1s")
		began := time.Now()
		p.signal(syscall.SIGTERM)
		p.waitOut(`^got SIGTSTP\n`)
		p.waitOut(`^got SIGTERM\n`)
		wantTook(t, began, time.Second, patience)
		p.wantExit(0)
		if got := regexp.MustCompile(`got \w+`).FindAllString(p.out(), -1); strings.Join(got, " ") != "got SIGTSTP got SIGTERM" {
			t.Errorf("the worker got %q", got)
		}
	})
}

// These delays are longer than the tests' patience.
func TestSecondStopSignalInTheStopDelayForceStops(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := quietable(t, noPID1, "--grace", "90s", "--stop-delay", "60s")
		p.signal(syscall.SIGTERM)
		p.waitOut(`^got SIGTSTP\n`)
		p.waitErr(`what still runs after 1m30s`)
		pastTheSameRequest()
		p.signal(syscall.SIGTERM)
		p.wantExit(137)
		p.wantCount("got SIGTERM", 0)
	})
}

func TestStopDelayIsForARunningWorkerOnly(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := quietable(t, noPID1, "--grace", "90s", "--stop-delay", "60s")
		p.signal(syscall.SIGTSTP)
		p.waitOut(`^got SIGTSTP\n`)
		p.signal(syscall.SIGTERM)
		p.wantExit(0)
		p.wantCount("got SIGTSTP", 1)
		p.wantCount("got SIGTERM", 1)
	})
}

func TestStopDelayEndsWithTheGraceToo(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: []string{"--grace", "2s", "--stop-delay", "1s", "--", workerBin, "listen", "-end", ""}})
		p.waitOut(`^ready`)
		began := time.Now()
		p.signal(syscall.SIGTERM)
		p.wantExit(137)
		wantTook(t, began, 2*time.Second, patience)
		p.wantCount("got SIGTERM", 1)
		p.wantLogged(`grace period of 2s over: `, 1)
	})
}

// HUP stands for an image's STOPSIGNAL. A leftover that does not handle it is
// sent TERM.
func TestStopSignalByFlagBeginsTheStop(t *testing.T) {
	need(t, "perl")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: line([]string{"--stop-signal", "HUP"}, script(`
			spawn { $name = "a"; catch "HUP", "TERM"; say "$name ready"; nap 0.01 until %got };
			spawn { $name = "b"; catch "TERM"; say "$name ready"; await "TERM" };
			catch "HUP", "TERM"; say "worker ready"; await "HUP"; exit 6`)...)})
		for _, name := range []string{"a", "b", "worker"} {
			p.waitOut(`^` + name + ` ready`)
		}
		p.signal(syscall.SIGHUP)
		p.wantExit(6)
		for _, want := range []string{"worker got HUP", "a got HUP", "b got TERM"} {
			p.wantCount(want, 1)
		}
		if signalled := strings.Count(p.out(), " got "); signalled != 3 {
			t.Errorf("signalled %d times, want 3: %s", signalled, p.out())
		}
	})
}
