package supervisor

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/reaper"
)

// action is what a process does about a signal, in the kernel's own form, which is at
// most 32 bytes on what .ci/run builds for: the handler is first.
type action [4]uint64

// The actions that are no handlers (signal(7)).
var (
	byDefault = action{}
	ignore    = action{1}
)

// setAction is rt_sigaction(2). It goes around os/signal, whose Reset leaves the
// runtime's handler in place.
func setAction(sig unix.Signal, to action) (before action, err error) {
	const sigsetSize = 8
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION,
		uintptr(sig), uintptr(unsafe.Pointer(&to)), uintptr(unsafe.Pointer(&before)), sigsetSize, 0, 0)
	if errno != 0 {
		return before, os.NewSyscallError("rt_sigaction", errno)
	}
	return before, nil
}

// sendStop sends this thread a TSTP, which it blocks until endStop, and before that
// one to the others of drainit's process group, who stop at once.
func sendStop(group bool) error {
	if group {
		before, err := setAction(unix.SIGTSTP, ignore)
		if err != nil {
			return err
		}
		err = os.NewSyscallError("kill", unix.Kill(0, unix.SIGTSTP))
		if _, failed := setAction(unix.SIGTSTP, before); err != nil || failed != nil {
			return errors.Join(err, failed)
		}
	}
	block := signals.Mask(unix.SIGTSTP)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &block, nil); err != nil {
		return os.NewSyscallError("rt_sigprocmask", err)
	}
	return os.NewSyscallError("tgkill", unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGTSTP))
}

// endStop ends what sendStop has begun. By the default action the whole of drainit
// stops, before the call returns, and it comes back when drainit was continued; or at
// once where a CONT has discarded the stop, or the kernel does. To ignore it discards it.
func endStop(to action) error {
	before, err := setAction(unix.SIGTSTP, to)
	stop := signals.Mask(unix.SIGTSTP)
	unblocked := os.NewSyscallError("rt_sigprocmask", unix.PthreadSigmask(unix.SIG_UNBLOCK, &stop, nil))
	if err != nil {
		return err
	}
	_, restored := setAction(unix.SIGTSTP, before)
	return errors.Join(unblocked, restored)
}

// continueOthers takes back what sendStop did to the others of drainit's group, some
// of whom may not have stopped yet.
func continueOthers() {
	t, err := proc.ReadTree()
	if err != nil {
		_ = unix.Kill(0, unix.SIGCONT)
		return
	}
	for _, p := range t.Group(unix.Getpgrp()) {
		if p.PID != os.Getpid() {
			_ = reaper.Signal(p.ID, unix.SIGCONT)
		}
	}
}
