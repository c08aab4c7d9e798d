package inspect

import (
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// A pod's infra container has no worker: it ends with 0, at once if no other process lives.
func TestPauseEndsAtAStopSignal(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		for flag, sig := range map[string]syscall.Signal{"-P": unix.SIGTERM, "--pause": unix.SIGINT} {
			p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{flag}})
			p.WaitTitle("drainit:pause")
			p.Signal(sig)
			p.WantExit(0)
			if p.Out()+p.Err() != "" {
				t.Errorf("stdout %q, stderr %q", p.Out(), p.Err())
			}
		}
	})
}

// As PID 1 of a pod it waits for the other containers, which the kernel would kill with it, but not longer
// than until a second stop signal.
func TestPauseWaitsForThePod(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	for name, again := range map[string]bool{"until it is alone": false, "until it is asked again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := harness.Run(t, harness.Launch{Args: []string{"-P"}})
			p.WaitTitle("drainit:pause")
			hold, release := harness.Pipe(t)
			guest := harness.Run(t, harness.Launch{NoPID1: true, Under: p.Entering(0, ""), Bin: "perl",
				Args: harness.Script(`say "ready"; hold 0`)[1:], Stdin: hold})
			guest.WaitOut(`^ready`)
			p.Signal(unix.SIGTERM)
			harness.PastTheSameRequest()
			if again {
				p.Signal(unix.SIGTERM)
				guest.WantExit(137)
			} else {
				release.Close()
				guest.WantExit(0)
			}
			p.WantExit(0)
		})
	}
}

// What an engine's exec leaves is PID 1's to bury.
func TestPauseReapsEveryOrphan(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := harness.Run(t, harness.Launch{Args: []string{"-P"}})
	p.WaitTitle("drainit:pause")
	script := harness.Script(`spawn { spawn { hold 0; say "orphan ends" } for 1 .. 20; say "parent ends" ` +
		`}; say "guest $$"; forever`)
	hold, release := harness.Pipe(t)
	guest := harness.Run(t, harness.Launch{NoPID1: true, Under: p.Entering(0, ""), Bin: "perl",
		Args: script[1:], Stdin: hold})
	guest.WaitOut(`^guest`)
	harness.WaitUntil(t, "the orphans are adopted",
		func() bool { return len(harness.ChildPids(p.Pid())) == 20 })
	release.Close()
	harness.WaitUntil(t, "the orphans are buried",
		func() bool { return len(harness.ChildPids(p.Pid())) == 0 })
	harness.WaitUntil(t, "each has ended by itself",
		func() bool { return strings.Count(guest.Out(), "orphan ends\n") == 20 })
	guest.End()
	p.Signal(unix.SIGTERM)
	p.WantExit(0)
}

// No verb takes a pod's pause for the drainit of its container.
func TestVerbsInAPodThatDrainitPauses(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := harness.Run(t, harness.Launch{Args: []string{"-P"}})
	p.WaitTitle("drainit:pause")
	for _, args := range everyVerb {
		p.Ask(args...).WantRefused(`^drainit: .*no drainit`)
	}
	c := inCgroup(p, harness.NewCgroup(t))
	inPhase{"running", false, 1}.check(t, c.Ask)
	c.Ask("stop").WantSilent()
	c.WantExit(7)
}
