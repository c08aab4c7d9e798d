package test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// terminationLog is the file that Kubernetes binds into a container: empty, and
// anybody may write it.
func terminationLog(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "termination-log")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil { // whatever the umask
		t.Fatal(err)
	}
	return path
}

// wantMessage checks what a termination message is.
func wantMessage(t *testing.T, path, pattern string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(pattern).Match(text) {
		t.Errorf("the termination message is %q, want %q", text, pattern)
	}
}

// A process that an exec left in the background becomes a child of drainit. The
// stop tells it when the worker has gone, and it drains too.
func TestWhatAnExecLeftIsSignalledAndDrains(t *testing.T) {
	t.Parallel()
	need(t, "busybox")
	c := startRunc(t, Bundle{
		Args:  []string{"/drainit", "-v", "--", "/worker", "listen", "-drain", "200ms"},
		Binds: map[string]string{"/busybox": pathOf(t, "busybox")},
	})
	c.waitOut(`^ready`)
	shell := c.exec("/busybox", "sh", "-c", "/worker listen -name 'left ' -drain 500ms &")
	left := shell.readyPid(`^left ready`)
	waitUntil(t, "drainit has adopted it", func() bool { return statusField(t, left, "PPid") == c.hostPid(1) })
	c.kill("TERM")
	c.wantExit(0)
	shell.wantExit(0)
	shell.wantGots("left got SIGTERM")
	shell.wantCount("left drained", 1)
	c.wantLogged(killLine, 0)
	c.wantNothingLeft()
}

// One that is still there belongs to the exec, and ends with the container,
// which does not wait for it.
func TestARunningExecHoldsNothingUp(t *testing.T) {
	t.Parallel()
	c := startRunc(t, Bundle{Args: []string{"/drainit", "--", "/worker", "listen"}})
	c.waitOut(`^ready`)
	held := c.exec("/worker", "listen", "-drain", "1h")
	held.waitOut(`^ready`)
	c.kill("TERM")
	c.wantExit(0)
	held.wantExit(137)
	held.wantGots()
	c.wantNothingLeft()
}

// A container's terminal (tty: true in Kubernetes) has drainit in front of it:
// Ctrl-C drains.
func TestTerminalOfAContainer(t *testing.T) {
	t.Parallel()
	master, slave := openPty(t)
	c := startRunc(t, Bundle{TTY: slave, Args: []string{"/drainit", "--", "/worker", "listen", "-catch", "INT,TERM", "-end", "INT", "-drain", "100ms"}})
	c.stdout.eof = make(chan struct{})
	go c.stdout.read(master)
	c.waitOut(`^ready`)
	c.exec("/drainit", "status").wantExit(0)
	if _, err := master.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	c.waitOut(`got SIGINT`) // behind the echo of what was typed
	c.wantExit(0)
	c.wantNothingLeft()
}

// The kernel kills the worker, which is larger, and drainit says what it saw.
func TestWorkerOutOfMemory(t *testing.T) {
	t.Parallel()
	need(t, "busybox")
	message := terminationLog(t)
	c := startRunc(t, Bundle{
		Args:     []string{"/drainit", "--", "/busybox", "dd", "if=/dev/zero", "of=/dev/null", "bs=300M", "count=1"},
		Binds:    map[string]string{"/busybox": pathOf(t, "busybox")},
		Writable: map[string]string{"/dev/termination-log": message},
		Memory:   48 << 20,
	})
	c.wantExit(137)
	c.wantLogged(`busybox\[\d+\] was killed by SIGKILL, which drainit did not send: out of memory, or a kill from outside`, 1)
	wantMessage(t, message, `busybox\[\d+\] was killed by SIGKILL`)
}

// The signals of a rolling restart by hand: quiet, back again, quiet, stop.
func TestQuietAndResumeByVerb(t *testing.T) {
	t.Parallel()
	c := startRunc(t, Bundle{Args: []string{"/drainit", "--", "/worker", "listen", "-catch", "TSTP,CONT,TERM"}})
	c.waitOut(`^ready`)
	for _, step := range []struct{ verb, got, phase string }{
		{"quiet", "SIGTSTP", "quiet"}, {"resume", "SIGCONT", "run"}, {"quiet", "SIGTSTP", "quiet"},
	} {
		c.exec("/drainit", step.verb).wantExit(0)
		c.wantProbes(step.phase, map[string]int{"run": 0, "quiet": 1}[step.phase], 0)
	}
	// The end of PID 1 is the end of all in its namespace, and may come before the verb's own.
	if status := c.exec("/drainit", "stop").wait(); status != 0 && status != 137 {
		t.Errorf("the verb stop returned %d", status)
	}
	c.wantExit(0)
	c.wantGots("got SIGTSTP", "got SIGCONT", "got SIGTSTP", "got SIGTERM")
}
