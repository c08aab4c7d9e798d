package reaper

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// ErrGone says that the process has ended, even if another has its pid now.
var ErrGone = errors.New("the process has ended")

// SignalChild sends a signal to a child of drainit that has not been waited for. It refuses
// pid 1 and below, which would mean drainit, its group or everything.
func SignalChild(pid int, sig unix.Signal) error {
	if pid <= 1 {
		return fmt.Errorf("cannot signal pid %d: not a child", pid)
	}
	return wrapKill(unix.Kill(pid, sig))
}

// SignalGroup sends a signal to the process group that a child of drainit leads. After the child has been
// waited for, the group may belong to another process.
func SignalGroup(leader int, sig unix.Signal) error {
	if leader <= 1 {
		return fmt.Errorf("cannot signal group %d: not a child's", leader)
	}
	return wrapKill(unix.Kill(-leader, sig))
}

// Signal sends a signal to a process that need not be a child of drainit. It compares the start time that
// read returns while a pidfd is open, so the signal reaches this process or none. Without pidfds (before
// Linux 5.3, or by a seccomp profile) it uses the pid. The error is ErrGone, that of read, or that of
// kill(2).
func Signal(id proc.ID, sig unix.Signal, read func(pid int) (proc.Process, error)) error {
	if id.PID <= 1 {
		return fmt.Errorf("cannot signal pid %d", id.PID)
	}
	fd, failed := unix.PidfdOpen(id.PID, 0)
	if failed == nil {
		defer unix.Close(fd)
	}
	p, err := read(id.PID)
	switch {
	case proc.IsGone(err) || err == nil && p.Start != id.Start:
		return ErrGone
	case err != nil:
		return err
	case failed == nil:
		failed = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
	if failed == nil || failed == unix.ESRCH {
		return wrapKill(failed)
	}
	return wrapKill(unix.Kill(id.PID, sig))
}

func wrapKill(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return ErrGone
	}
	return os.NewSyscallError("kill", err)
}

// SignalInit sends a signal to PID 1, for a subcommand.
func SignalInit(sig unix.Signal) error { return wrapKill(unix.Kill(1, sig)) }
