// Package reaper waits for drainit's children and signals the processes below it.
//
// It holds the only wait4(2), but that of a failed start in syscall.ForkExec. It also holds every kill(2) and
// pidfd_send_signal(2) to the worker's tree, with guards against pids that mean another process. Since no
// other code waits for a child that has started, its pid can't be recycled between a snapshot and a kill. It
// decides nothing and writes no line.
package reaper

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// ErrNoChildren says that drainit has no child left, neither living nor dead.
var ErrNoChildren = errors.New("no child is left")

// WaitEvent is one change of state of one child: it ended, stopped or continued.
// The status is as in wait(2).
type WaitEvent struct {
	PID    int
	Status unix.WaitStatus
}

// Wait returns the next change of state of any child without blocking. ok is false if no
// child has changed. The error is ErrNoChildren or that of wait4(2).
func Wait() (e WaitEvent, ok bool, err error) {
	for {
		e.PID, err = unix.Wait4(-1, &e.Status, unix.WNOHANG|unix.WUNTRACED|unix.WCONTINUED, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.ECHILD:
			return WaitEvent{}, false, ErrNoChildren
		case err != nil:
			return WaitEvent{}, false, os.NewSyscallError("wait4", err)
		}
		return e, e.PID > 0, nil
	}
}

// HasExited reports whether a child has ended and has not been waited for.
func HasExited(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo != 0
}

// Terminated reports whether the child has ended, by itself or by a signal.
func (e WaitEvent) Terminated() bool { return e.Status.Exited() || e.Status.Signaled() }

// ExitStatus is the status that a shell would report: the exit status, or 128+n after death by signal n. The
// child must be Terminated.
func (e WaitEvent) ExitStatus() int {
	if e.Status.Signaled() {
		return 128 + int(e.Status.Signal())
	}
	return e.Status.ExitStatus()
}

// TermSignal is the signal that ended the child, 0 if it exited by itself.
func (e WaitEvent) TermSignal() unix.Signal {
	if e.Status.Signaled() {
		return e.Status.Signal()
	}
	return 0
}

// BecomeSubreaper makes drainit the parent of every orphan below it, as PID 1 always is
// (PR_SET_CHILD_SUBREAPER, prctl(2), Linux 3.4).
func BecomeSubreaper() error {
	if os.Getpid() == 1 {
		return nil // some container runtimes do not know the call
	}
	return os.NewSyscallError("prctl PR_SET_CHILD_SUBREAPER",
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
}
