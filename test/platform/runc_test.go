package platform

import (
	"testing"

	"drainit/test/harness"
)

// A process that an exec left in the background becomes a child of drainit. The
// stop tells it when the worker has gone, and it drains too.
func TestWhatAnExecLeftIsSignalledAndDrains(t *testing.T) {
	t.Parallel()
	c := harness.StartRunc(t, harness.Bundle{
		Args:  []string{"/drainit", "-v", "--", "/worker", "listen", "-drain", "200ms"},
		Binds: map[string]string{"/busybox": harness.StaticBusybox(t)},
	})
	c.WaitOut(`^ready`)
	shell := c.Exec("/busybox", "sh", "-c", "/worker listen -name 'left ' -drain 500ms &")
	left := shell.ReadyPid(`^left ready`)
	harness.WaitUntil(t, "drainit has adopted it", func() bool { return harness.StatusField(t, left, "PPid") == c.HostPid(1) })
	c.Kill("TERM")
	c.WantExit(0)
	shell.WantExit(0)
	shell.WantGots("left got SIGTERM")
	shell.WantCount("left drained", 1)
	c.WantLogged(harness.KillLine, 0)
	c.WantNothingLeft()
}

// One that is still there belongs to the exec, and ends with the container,
// which does not wait for it.
func TestARunningExecHoldsNothingUp(t *testing.T) {
	t.Parallel()
	c := harness.StartRunc(t, harness.Bundle{Args: []string{"/drainit", "--", "/worker", "listen"}})
	c.WaitOut(`^ready`)
	held := c.Exec("/worker", "listen", "-drain", "1h")
	held.WaitOut(`^ready`)
	c.Kill("TERM")
	c.WantExit(0)
	held.WantExit(137)
	held.WantGots()
	c.WantNothingLeft()
}

// A container's terminal (tty: true in Kubernetes) has drainit in front of it:
// Ctrl-C drains.
func TestTerminalOfAContainer(t *testing.T) {
	t.Parallel()
	master, slave := harness.OpenPty(t)
	c := harness.StartRunc(t, harness.Bundle{TTY: slave, Args: []string{"/drainit", "--", "/worker", "listen", "-catch", "INT,TERM", "-end", "INT", "-drain", "100ms"}})
	c.Stdout.Eof = make(chan struct{})
	go c.Stdout.Read(master)
	c.WaitOut(`^ready`)
	c.Exec("/drainit", "status").WantExit(0)
	if _, err := master.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	c.WaitOut(`got SIGINT`) // behind the echo of what was typed
	c.WantExit(0)
	c.WantNothingLeft()
}

// The kernel kills the worker, which is larger, and drainit says what it saw.
func TestWorkerOutOfMemory(t *testing.T) {
	t.Parallel()
	message := harness.TerminationLog(t)
	c := harness.StartRunc(t, harness.Bundle{
		Args:     []string{"/drainit", "--", "/busybox", "dd", "if=/dev/zero", "of=/dev/null", "bs=300M", "count=1"},
		Binds:    map[string]string{"/busybox": harness.StaticBusybox(t)},
		Writable: map[string]string{"/dev/termination-log": message},
		Memory:   48 << 20,
	})
	c.WantExit(137)
	c.WantLogged(`busybox\[\d+\] was killed by SIGKILL, which drainit did not send: out of memory, or a kill from outside`, 1)
	harness.WantMessage(t, message, `busybox\[\d+\] was killed by SIGKILL`)
}

// The signals of a rolling restart by hand: quiet, back again, quiet, stop.
func TestQuietAndResumeByVerb(t *testing.T) {
	t.Parallel()
	c := harness.StartRunc(t, harness.Bundle{Args: []string{"/drainit", "--", "/worker", "listen", "-catch", "TSTP,CONT,TERM"}})
	c.WaitOut(`^ready`)
	for _, step := range []struct{ verb, got, phase string }{
		{"quiet", "SIGTSTP", "quiet"}, {"resume", "SIGCONT", "run"}, {"quiet", "SIGTSTP", "quiet"},
	} {
		c.Exec("/drainit", step.verb).WantExit(0)
		c.WantProbes(step.phase, map[string]int{"run": 0, "quiet": 1}[step.phase], 0)
	}
	// The end of PID 1 is the end of all in its namespace, and may come before the verb's own.
	if status := c.Exec("/drainit", "stop").Wait(); status != 0 && status != 137 {
		t.Errorf("the verb stop returned %d", status)
	}
	c.WantExit(0)
	c.WantGots("got SIGTSTP", "got SIGCONT", "got SIGTSTP", "got SIGTERM")
}
