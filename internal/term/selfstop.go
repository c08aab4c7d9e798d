package term

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/sigqueue"
	"drainit/reaper"
)

// sendStop sends this thread a TSTP, which it blocks until endStop, and before that
// one to the others of drainit's process group, which stop at once.
func sendStop(group bool) error {
	if group {
		before, err := sigqueue.SetAction(unix.SIGTSTP, sigqueue.Ignore)
		if err != nil {
			return err
		}
		err = reaper.SignalOwnGroup(unix.SIGTSTP)
		if _, failed := sigqueue.SetAction(unix.SIGTSTP, before); err != nil || failed != nil {
			return errors.Join(err, failed)
		}
	}
	block := signals.Mask(unix.SIGTSTP)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &block, nil); err != nil {
		return os.NewSyscallError("rt_sigprocmask", err)
	}
	return reaper.SignalThread(unix.Gettid(), unix.SIGTSTP)
}

// endStop ends what sendStop has begun. By the default action the whole of drainit
// stops, before the call returns, and it comes back when drainit was continued; or at
// once where a CONT has discarded the stop, or the kernel does. To ignore it discards it.
func endStop(to sigqueue.Action) error {
	before, err := sigqueue.SetAction(unix.SIGTSTP, to)
	stop := signals.Mask(unix.SIGTSTP)
	unblocked := os.NewSyscallError("rt_sigprocmask", unix.PthreadSigmask(unix.SIG_UNBLOCK, &stop, nil))
	if err != nil {
		return err
	}
	_, restored := sigqueue.SetAction(unix.SIGTSTP, before)
	return errors.Join(unblocked, restored)
}

// continueOthers takes back what sendStop did to the others of drainit's group, of which
// some may not have stopped yet.
func (j *Job) continueOthers() {
	all, err := j.owner.Snapshot(proc.Want{})
	if err != nil {
		_ = reaper.SignalOwnGroup(unix.SIGCONT)
		return
	}
	for _, p := range all.Group(unix.Getpgrp()) {
		if p.PID != os.Getpid() {
			_ = reaper.Signal(p.ID, unix.SIGCONT, j.read)
		}
	}
}
