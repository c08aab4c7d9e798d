package proc

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const belowReaper = "DRAINTEST_BELOW_REAPER"

// TestMain runs the tests below a process that reaps what they leave, where PID 1 is go test, which reaps none: in a
// container of Docker's. Reaping at the end is too late: a test that makes orphans all the time fills the process table.
func TestMain(m *testing.M) {
	if os.Getppid() != 1 || os.Getenv(belowReaper) != "" {
		os.Exit(m.Run())
	}
	status, err := reaped()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot run the tests below a reaper:", err)
		os.Exit(1)
	}
	os.Exit(status)
}

// reaped runs the same tests in a child, and returns how it exits.
func reaped() (status int, err error) {
	runtime.LockOSThread() // the parent-death signal is of the thread's end
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	tests, err := os.StartProcess("/proc/self/exe", os.Args, &os.ProcAttr{
		Env: append(os.Environ(), belowReaper+"=1"), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return 0, err
	}
	for {
		var ended unix.WaitStatus
		switch pid, err := unix.Wait4(-1, &ended, 0, nil); {
		case err != nil && err != unix.EINTR:
			return 0, err
		case pid != tests.Pid:
		case ended.Signaled():
			return 128 + int(ended.Signal()), nil
		default:
			return ended.ExitStatus(), nil
		}
	}
}
