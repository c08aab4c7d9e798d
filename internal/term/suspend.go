package term

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/sigqueue"
)

// Suspend stops a worker that does not handle TSTP, and then drainit, so that Ctrl-Z brings back the shell's
// prompt. MaySuspend must be true. It returns false if the worker cannot be signalled. Then TSTP means quiet.
func (j *Job) Suspend() bool {
	if j == nil || j.owner.SignalGroup(unix.SIGTSTP) != nil {
		return false
	}
	j.suspended, j.wantsTerminal = true, false
	j.stop(os.Getpid()) // the key has reached the rest of drainit's group
	return true
}

// WorkerPaused reacts to a worker that was stopped or continued, as a shell does to its job.
func (j *Job) WorkerPaused(status unix.WaitStatus) {
	known := j.suspended // it was stopped by Suspend
	j.suspended = status.Stopped()
	if known || !j.suspended {
		return
	}
	by, fg := status.StopSignal(), j.tty.foreground()
	had := j.tty.granted || fg == j.pgid // it may have granted the terminal in turn
	// Without the terminal, top stops itself from its handler for TTOU, as another drainit does by TSTP.
	handlesTTOU := func(p *proc.Process) bool { return p.Handles(unix.SIGTTOU) }
	j.wantsTerminal = by == unix.SIGTTIN || by == unix.SIGTTOU ||
		!j.tty.granted && slices.ContainsFunc(j.owner.Members(j.pgid), handlesTTOU)
	switch {
	case fg == hungUp:
	case j.wantsTerminal && (fg == j.pgid || j.tty.grantForeground(j.pgid)):
		j.resumeWorker()
	case (j.wantsTerminal || had || fg == unix.Getpgrp()) && j.MaySuspend():
		j.stop(ownGroup) // the job that the shell knows
	case had && !j.wantsTerminal: // by a Ctrl-Z that no shell could undo
		j.resumeWorker()
	}
}

// Continued continues a worker that was stopped as a job. It is called when a CONT has come to drainit, as by
// fg or bg. It reports whether there is such a worker.
func (j *Job) Continued() bool {
	if j == nil || !j.suspended || !j.canStop() {
		return false
	}
	if j.wantsTerminal || j.tty.granted {
		j.tty.grantForeground(j.pgid)
	}
	j.resumeWorker()
	return true
}

func (j *Job) resumeWorker() {
	j.suspended = false
	_ = j.owner.SignalGroup(unix.SIGCONT) // which warns of a failure
}

// MaySuspend reports whether drainit can stop, and no stop is in progress or on its way.
func (j *Job) MaySuspend() bool {
	return j != nil && !j.queue.StopPending() && j.owner.MaySuspend() && j.canStop()
}

// canStop reports whether drainit's process group is not orphaned (setpgid(2)). In an orphaned one the kernel
// discards a stop.
func (j *Job) canStop() bool {
	group := unix.Getpgrp()
	session, err := unix.Getsid(0)
	if err != nil || os.Getpid() == 1 {
		return false
	}
	drainit := &proc.Process{PPID: os.Getppid()} // also without /proc
	members := append(j.owner.Members(group), drainit)
	return slices.ContainsFunc(members, func(p *proc.Process) bool {
		above, err := unix.Getpgid(p.PPID)
		sid, _ := unix.Getsid(p.PPID)
		return err == nil && above != group && sid == session
	})
}

const ownGroup = 0 // to kill(2)

// stop stops drainit by TSTP until a CONT comes, which the loop takes like any other. to is
// drainit's pid, or ownGroup.
//
// If a stop signal or a CONT came just before, no other may follow. So the locked main thread
// blocks its own TSTP until the queue has all that came before. A CONT that comes later discards
// the TSTP (kernel/signal.c, prepare_signal).
func (j *Job) stop(to int) {
	had := j.tty.ours()
	handler, _ := sigqueue.SetAction(unix.SIGTSTP, sigqueue.Ignore)
	_ = unix.Kill(to, unix.SIGTSTP) // for the others of the group
	stop := signals.Mask(unix.SIGTSTP)
	_ = unix.PthreadSigmask(unix.SIG_BLOCK, &stop, nil)
	err := unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGTSTP)
	time.Sleep(onItsWay)
	// fg sends no CONT to a job that still runs when it gives it the terminal.
	if err != nil || j.queue.StopPending() || j.queue.Pending().Has(unix.SIGCONT) || !had && j.tty.ours() {
		_ = unix.Kill(to, unix.SIGCONT) // discards the TSTP, and continues the others
		time.Sleep(onItsWay)            // one that fg sends later would undo the next Ctrl-Z
	}
	_, _ = sigqueue.SetAction(unix.SIGTSTP, sigqueue.Default)
	_ = unix.PthreadSigmask(unix.SIG_UNBLOCK, &stop, nil) // drainit stops here
	_, _ = sigqueue.SetAction(unix.SIGTSTP, handler)
}

// onItsWay is how long a signal may take from the kernel to the queue on a busy machine.
const onItsWay = 50 * time.Millisecond
