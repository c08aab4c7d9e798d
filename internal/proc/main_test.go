package proc

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const belowReaper = "DRAINTEST_BELOW_REAPER"

// TestMain runs the tests below a process that reaps what they leave, where PID 1 is go test, which reaps
// none: in a container of Docker's. Reaping at the end is too late: a test that makes orphans all the
// time fills the process table.
func TestMain(m *testing.M) {
	if os.Getppid() != 1 || os.Getenv(belowReaper) != "" {
		os.Exit(m.Run())
	}
	runtime.LockOSThread() // the parent-death signal is of the thread's end
	err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	tests, err2 := os.StartProcess("/proc/self/exe", os.Args, &os.ProcAttr{
		Env: append(os.Environ(), belowReaper+"=1"), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	for err = errors.Join(err, err2); err == nil || err == unix.EINTR; {
		var pid int
		var ended unix.WaitStatus
		if pid, err = unix.Wait4(-1, &ended, 0, nil); err == nil && pid == tests.Pid {
			os.Exit(max(ended.ExitStatus(), int(ended.Signal()))) // one of them is -1
		}
	}
	fmt.Fprintln(os.Stderr, "cannot run the tests below a reaper:", err)
	os.Exit(1)
}
