package tree

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// hungFS is a file on a file system that takes no write, and at some time answers nothing.
type hungFS struct {
	*harness.Init
	file string
}

func newHungFS(t *testing.T) hungFS {
	t.Helper()
	harness.NeedRoot(t)
	if _, err := os.Stat("/dev/fuse"); err != nil {
		harness.Skip(t, "needs /dev/fuse")
	}
	f := hungFS{harness.NewInit(t), filepath.Join(t.TempDir(), "file")}
	if err := os.WriteFile(f.file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.Cmd = exec.Command(harness.WorkerBin, "hungfs", f.file)
	f.Cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	f.Start(nil, nil)
	t.Cleanup(func() {
		f.release()
		<-f.Done
		if err := unix.Unmount(f.file, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	f.WaitOut(`^ready`)
	return f
}

// hang has it answer nothing from now on.
func (f hungFS) hang() {
	f.T.Helper()
	if err := os.WriteFile(f.file+".hang", nil, 0o600); err != nil {
		f.T.Fatal(err)
	}
}

// release ends what hangs, by an error.
func (f hungFS) release() { f.Signal(unix.SIGKILL) }

// Who hangs in munmap holds a lock that a look at its command line waits for, and
// that is a wait which nothing but SIGKILL ends: ps hangs. Not in parallel with
// other tests, whose programs call ps.
func TestProcessThatHangsInTheKernelDelaysNoStop(t *testing.T) {
	harness.Need(t, "perl")
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		hung := newHungFS(t)
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--grace", "1h"}, harness.Script(`
			spawn { spawn { exec @ARGV } };
			catch "TERM"; say "ready"; await "TERM"; exit 7`, harness.WorkerBin, "hang", hung.file, harness.Hangs)...)})
		t.Cleanup(hung.release) // before the look at what is left
		p.WaitOut(`^ready`)
		p.WaitOut(`^hangs`)
		worker := p.FirstChild()
		p.Signal(unix.SIGTERM)
		p.WaitOut(`^worker got TERM`)
		harness.WaitUntil(t, "the worker is reaped", func() bool { return !exists(worker) })
		harness.PastTheSameRequest()
		p.Signal(unix.SIGTERM)
		p.WaitErr(`force-stop: killing \S+\[\d+\] \(stuck in the kernel, `)
		hung.release()
		p.WantExit(7)
		p.WantGots("worker got TERM")
		p.WantNothingLeft()
	})
}
