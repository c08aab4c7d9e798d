package inspect

import (
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// A pod's infra container has no worker: it ends with 0, at once, whatever else lives.
func TestPauseEndsAtAStopSignal(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		for _, args := range []string{"-P", "--pause", "-P --"} {
			for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGINT} {
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: strings.Fields(args)})
				p.WaitTitle("drainit:pause")
				p.Signal(sig)
				p.WantExit(0)
				if p.Out()+p.Err() != "" {
					t.Errorf("stdout %q, stderr %q", p.Out(), p.Err())
				}
			}
		}
	})
}

// What drainit does about other signals ends no pod.
func TestPauseOutlivesOtherSignals(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"-P"}})
		p.WaitTitle("drainit:pause")
		harness.WaitUntil(t, "each signal is subscribed to", func() bool { return harness.SignalMask(t, p.Pid(), "SigCgt")&(1<<(unix.SIGCONT-1)) != 0 })
		for _, sig := range []syscall.Signal{unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGTSTP, unix.SIGPIPE, unix.SIGALRM} {
			p.Signal(sig)
		}
		if !p.Running() {
			t.Error("it has ended")
		}
		p.Signal(unix.SIGTERM)
		p.WantExit(0)
	})
}

// What an engine's exec leaves is PID 1's to bury.
func TestPauseReapsEveryOrphan(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	harness.Need(t, "perl")
	p := harness.Run(t, harness.Launch{Args: []string{"-P"}})
	p.WaitTitle("drainit:pause")
	command := append(p.Entering(0, ""), harness.Script(`
		spawn { spawn { hold 0; say "orphan ends" } for 1 .. 20; say "parent ends" }; say "guest $$"; forever`)...)
	hold, release := harness.Pipe(t)
	guest := harness.Run(t, harness.Launch{NoPID1: true, Bin: harness.PathOf(t, command[0]), Args: command[1:], Stdin: hold})
	guest.WaitOut(`^guest`)
	harness.WaitUntil(t, "the orphans are adopted", func() bool { return len(harness.ChildPids(p.Pid())) == 20 })
	release.Close()
	harness.WaitUntil(t, "the orphans are buried", func() bool { return len(harness.ChildPids(p.Pid())) == 0 })
	harness.WaitUntil(t, "each has ended by itself", func() bool { return strings.Count(guest.Out(), "orphan ends\n") == 20 })
	p.Signal(unix.SIGTERM)
	p.WantExit(0)
}

func TestPauseTakesNoCommand(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"-P true", "--pause -- true", "-P -- true x"} {
		r := harness.RunToEnd(t, harness.Launch{NoPID1: true, Args: strings.Fields(args)})
		if r.Status != 125 || r.Out != "" || r.Err != "drainit: --pause runs no COMMAND, and was given \"true\"\n" {
			t.Errorf("%s: exit status %d, stdout %q, stderr %q", args, r.Status, r.Out, r.Err)
		}
	}
}

// No verb takes a pod's pause for the drainit of its container.
func TestVerbsInAPodThatDrainitPauses(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := harness.Run(t, harness.Launch{Args: []string{"-P"}})
	p.WaitTitle("drainit:pause")
	pod := harness.Pod{Pause: p}
	pod.Pause.Ask("status").WantRefused(`^drainit: .*no drainit`)
	c := pod.Run(harness.NewCgroup(t), harness.Launch{Args: []string{harness.LongGrace, "--", harness.WorkerBin, "listen", "-exit", "7"}})
	c.WaitReady()
	inPhase{"running", false, 1}.check(t, c.Ask)
	c.Ask("stop").WantSilent()
	c.WantExit(7)
}
