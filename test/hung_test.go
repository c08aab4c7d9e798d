package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hungFile is a file on a file system that takes no write, until release is called.
func hungFile(t *testing.T) (path string, release func()) {
	t.Helper()
	needRoot(t)
	if _, err := os.Stat("/dev/fuse"); err != nil {
		skip(t, "needs /dev/fuse")
	}
	path = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := newInit(t)
	p.cmd = exec.Command(workerBin, "hungfs", path)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.start(nil, nil)
	t.Cleanup(func() {
		p.signal(unix.SIGKILL)
		<-p.done
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	p.waitOut(`^ready`)
	return path, func() { p.signal(unix.SIGKILL) }
}

// Who hangs in munmap holds a lock that a look at its command line waits for, and
// that is a wait which nothing but SIGKILL ends: ps hangs. Not in parallel with
// other tests, whose programs call ps.
func TestProcessThatHangsInTheKernelDelaysNoStop(t *testing.T) {
	need(t, "perl")
	bothModes(t, func(t *testing.T, noPID1 bool) {
		file, release := hungFile(t)
		p := launch(t, Launch{NoPID1: noPID1, Args: line([]string{"--grace", "2s"}, script(`
			spawn { spawn { exec @ARGV } };
			catch "TERM"; say "ready"; await "TERM"; exit 7`, workerBin, "hang", file)...)})
		t.Cleanup(release) // before the look at what is left
		p.waitOut(`^ready`)
		p.waitOut(`^hangs`)
		asked := time.Now()
		p.signal(unix.SIGTERM)
		p.waitOut(`^worker got TERM`)
		wantTook(t, asked, 0, 2*time.Second)
		p.waitErr(`grace period of 2s over: killing worker\[\d+\] \(stuck in the kernel, `)
		wantTook(t, asked, 2*time.Second, 4*time.Second)
		release()
		p.wantExit(7)
		p.wantGots("worker got TERM")
		p.wantNothingLeft()
	})
}
