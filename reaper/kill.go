package reaper

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// ErrGone says that the process meant has ended, whoever has its pid now.
var ErrGone = errors.New("the process has ended")

// SignalChild sends a signal to a child of drainit that has not been waited
// for, so that its pid is still its own. It refuses pid 1 and below, which
// would mean drainit, its group or everything.
func SignalChild(pid int, sig unix.Signal) error {
	if pid <= 1 {
		return fmt.Errorf("cannot signal pid %d: not a child", pid)
	}
	return wrapKill(unix.Kill(pid, sig))
}

// SignalGroup sends a signal to the process group that a child of drainit
// leads. The child must not have been waited for: else the group may be
// another's by now.
func SignalGroup(leader int, sig unix.Signal) error {
	if leader <= 1 {
		return fmt.Errorf("cannot signal group %d: not a child's", leader)
	}
	return wrapKill(unix.Kill(-leader, sig))
}

// Signal sends a signal to a process that may be somebody else's child. It
// goes through a pidfd whose start time is read after opening, so it reaches
// this process or none. The error is ErrGone, or that of
// pidfd_send_signal(2), EPERM above all.
func Signal(id proc.ID, sig unix.Signal) error {
	if id.PID <= 1 {
		return fmt.Errorf("cannot signal pid %d", id.PID)
	}
	fd, err := unix.PidfdOpen(id.PID, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return signalByPid(id, sig) // before Linux 5.3, or a seccomp profile of then
	}
	if err != nil {
		return wrapKill(err)
	}
	defer unix.Close(fd)
	if err := isStill(id); err != nil {
		return err
	}
	err = unix.PidfdSendSignal(fd, sig, nil, 0)
	if errors.Is(err, unix.ENOSYS) {
		return signalByPid(id, sig)
	}
	return wrapKill(err)
}

func signalByPid(id proc.ID, sig unix.Signal) error {
	if err := isStill(id); err != nil {
		return err
	}
	return wrapKill(unix.Kill(id.PID, sig))
}

// isStill returns nil if the pid is still that of this process.
func isStill(id proc.ID) error {
	p, err := proc.ReadProcess(id.PID)
	if proc.Vanished(err) || err == nil && p.Start != id.Start {
		return ErrGone
	}
	return err
}

func wrapKill(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return ErrGone
	}
	return os.NewSyscallError("kill", err)
}

// SignalEverything sends a signal to every process of the PID namespace but
// drainit, and only if drainit is its PID 1: elsewhere it would reach the whole
// machine. It also reaches what an exec into the container has started.
func SignalEverything(sig unix.Signal) error {
	if os.Getpid() != 1 {
		return errors.New("cannot signal everything: not PID 1")
	}
	return wrapKill(unix.Kill(-1, sig))
}

// sweeping bounds one KillAll: who forks faster than that has the next call.
const sweeping = 500 * time.Millisecond

// KillAll sends SIGKILL to everything below drainit. As PID 1 that is one call
// of the kernel, which no fork escapes. Elsewhere it walks the descendants,
// again and again until a walk finds nobody new: they fork meanwhile.
// A worker that has not been waited for is given by its pid, else 0: its group
// goes first, so that something ends even without /proc.
// The error names the first process that could not be killed.
func KillAll(worker int) error {
	if os.Getpid() == 1 {
		if err := SignalEverything(unix.SIGKILL); !errors.Is(err, ErrGone) {
			return err
		}
		return nil
	}
	if worker > 1 && SignalGroup(worker, unix.SIGKILL) != nil {
		_ = SignalChild(worker, unix.SIGKILL) // it has left its group; the walk says what failed
	}
	done := make(map[proc.ID]bool)
	var failed error
	for began := time.Now(); time.Since(began) < sweeping; {
		fresh, err := sweep(done)
		if failed == nil {
			failed = err
		}
		if !fresh {
			break
		}
	}
	return failed
}

// sweep kills the descendants that are not in done and adds them to it.
func sweep(done map[proc.ID]bool) (fresh bool, failed error) {
	t, err := proc.ReadTree()
	if err != nil {
		return false, err
	}
	for _, p := range t.Below(os.Getpid()) {
		if done[p.ID] {
			continue
		}
		done[p.ID], fresh = true, true
		err := Signal(p.ID, unix.SIGKILL)
		if err != nil && !errors.Is(err, ErrGone) && failed == nil {
			failed = fmt.Errorf("cannot kill %s[%d]: %w", p.Comm, p.PID, err)
		}
	}
	return fresh, failed
}
