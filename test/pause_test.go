package test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A pod's infra container has no worker: it ends with 0, at once, whatever else lives.
func TestPauseEndsAtAStopSignal(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		for _, args := range []string{"-P", "--pause", "-P --"} {
			for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGINT} {
				p := launch(t, Launch{NoPID1: noPID1, Args: strings.Fields(args)})
				p.waitTitle("drainit:pause")
				p.signal(sig)
				p.wantExit(0)
				if p.out()+p.err() != "" {
					t.Errorf("stdout %q, stderr %q", p.out(), p.err())
				}
			}
		}
	})
}

// What drainit does about other signals ends no pod.
func TestPauseOutlivesOtherSignals(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: []string{"-P"}})
		p.waitTitle("drainit:pause")
		waitUntil(t, "each signal is subscribed to", func() bool { return signalMask(t, p.Pid(), "SigCgt")&(1<<(unix.SIGCONT-1)) != 0 })
		for _, sig := range []syscall.Signal{unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGTSTP, unix.SIGPIPE, unix.SIGALRM} {
			p.signal(sig)
		}
		if !p.running() {
			t.Error("it has ended")
		}
		p.signal(unix.SIGTERM)
		p.wantExit(0)
	})
}

// What an engine's exec leaves is PID 1's to bury.
func TestPauseReapsEveryOrphan(t *testing.T) {
	t.Parallel()
	needAsk(t)
	need(t, "perl")
	p := launch(t, Launch{Args: []string{"-P"}})
	p.waitTitle("drainit:pause")
	command := append(p.entering(0, ""), script(`
		spawn { spawn { hold 0; say "orphan ends" } for 1 .. 20; say "parent ends" }; say "guest $$"; forever`)...)
	hold, release := pipe(t)
	guest := launch(t, Launch{NoPID1: true, Bin: pathOf(t, command[0]), Args: command[1:], Stdin: hold})
	guest.waitOut(`^guest`)
	waitUntil(t, "the orphans are adopted", func() bool { return len(childrenOf(p.Pid())) == 20 })
	release.Close()
	waitUntil(t, "the orphans are buried", func() bool { return len(childrenOf(p.Pid())) == 0 })
	waitUntil(t, "each has ended by itself", func() bool { return strings.Count(guest.out(), "orphan ends\n") == 20 })
	p.signal(unix.SIGTERM)
	p.wantExit(0)
}

func TestPauseTakesNoCommand(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"-P true", "--pause -- true", "-P -- true x"} {
		r := runToEnd(t, Launch{NoPID1: true, Args: strings.Fields(args)})
		if r.status != 125 || r.out != "" || r.err != "drainit: --pause runs no COMMAND, and was given \"true\"\n" {
			t.Errorf("%s: exit status %d, stdout %q, stderr %q", args, r.status, r.out, r.err)
		}
	}
}

// No verb takes a pod's pause for the drainit of its container.
func TestVerbsInAPodThatDrainitPauses(t *testing.T) {
	t.Parallel()
	needAsk(t)
	p := launch(t, Launch{Args: []string{"-P"}})
	p.waitTitle("drainit:pause")
	pod := Pod{p}
	pod.pause.ask("status").wantRefused(`^drainit: .*no drainit`)
	c := pod.run(newCgroup(t), Launch{Args: []string{longGrace, "--", workerBin, "listen", "-exit", "7"}})
	c.waitOut(`^ready`)
	c.waitTitle("drainit:run")
	inPhase{"running", false, 1}.check(t, c.ask)
	c.ask("stop").wantSilent()
	c.wantExit(7)
}

// podman 5 asks it of its init_path, and podman 4 of the catatonit among its helpers.
func TestPodmanPodPausedByDrainit(t *testing.T) {
	t.Parallel()
	e := startPodman(t, "")
	helpers := t.TempDir()
	if err := unix.Symlink(drainitBin, helpers+"/catatonit"); err != nil {
		t.Fatal(err)
	}
	e.configure("helper_binaries_dir = [\"" + helpers + "\"]")
	e.ask("pod", "create", "--name", "pod", "--share", "pid,net", "--network", "host", "--cgroup-parent", e.cgroup())
	e.ask("pod", "start", "pod")
	infra := e.ask("pod", "inspect", "--format", "{{.InfraContainerID}}", "pod")
	pid, err := strconv.Atoi(e.ask("inspect", "--format", "{{.State.Pid}}", infra))
	if err != nil {
		t.Fatal(err)
	}
	waitTitle(t, pid, "drainit:pause")
	p := e.podWorker("one")
	e.wantStatus("one", "running")
	e.ask("stop", "one")
	p.wantExit(0)
	e.ask("pod", "stop", "pod")
	if got := e.ask("inspect", "--format", "{{.State.ExitCode}}", infra); got != "0" {
		t.Errorf("the pause ended with %s", got)
	}
}
