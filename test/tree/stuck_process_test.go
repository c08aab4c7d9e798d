package tree

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// hungFile is a file on a file system that takes no write, until release is called.
func hungFile(t *testing.T) (path string, release func()) {
	t.Helper()
	harness.NeedRoot(t)
	if _, err := os.Stat("/dev/fuse"); err != nil {
		harness.Skip(t, "needs /dev/fuse")
	}
	path = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := harness.NewInit(t)
	p.Cmd = exec.Command(harness.WorkerBin, "hungfs", path)
	p.Cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.Start(nil, nil)
	t.Cleanup(func() {
		p.Signal(unix.SIGKILL)
		<-p.Done
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	p.WaitOut(`^ready`)
	return path, func() { p.Signal(unix.SIGKILL) }
}

// Who hangs in munmap holds a lock that a look at its command line waits for, and
// that is a wait which nothing but SIGKILL ends: ps hangs. Not in parallel with
// other tests, whose programs call ps.
func TestProcessThatHangsInTheKernelDelaysNoStop(t *testing.T) {
	harness.Alone(t)
	harness.Need(t, "perl")
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		file, release := hungFile(t)
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--grace", "5s"}, harness.Script(`
			spawn { spawn { exec @ARGV } };
			catch "TERM"; say "ready"; await "TERM"; exit 7`, harness.WorkerBin, "hang", file)...)})
		t.Cleanup(release) // before the look at what is left
		p.WaitOut(`^ready`)
		p.WaitOut(`^hangs`)
		const late = 2 * time.Second
		asked, took := time.Now(), harness.LateFrom(p)
		p.Signal(unix.SIGTERM)
		p.WaitOut(`^worker got TERM`)
		if signaled := took(); signaled >= late {
			t.Errorf("the worker was signalled after %v", signaled)
		}
		p.WaitErr(`grace period of 5s over: killing worker\[\d+\] \(stuck in the kernel, `)
		harness.WantTook(t, asked, 5*time.Second, harness.Patience)
		if killed := took(); killed >= 5*time.Second+late {
			t.Errorf("what was left was killed after %v", killed)
		}
		release()
		p.WantExit(7)
		p.WantGots("worker got TERM")
		p.WantNothingLeft()
	})
}
