package term

import (
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/sigqueue"
)

// Suspend is a TSTP for a worker that does not handle it, as by Ctrl-Z: both stop, and the
// shell has its prompt back. It reports false where no shell could continue drainit, or
// may not now: then the signal means quiet.
func (j *Job) Suspend() bool {
	if !j.MaySuspend() {
		return false
	}
	j.drainSignals()
	if j.queue.StopPending() {
		return true // the worker is about to be signalled, and could not act upon it
	}
	if j.queue.Overtaken() { // fg came before drainit could stop: to stop now would be for good
		j.resumed = j.queue.Continued()
		return true
	}
	if err := j.owner.SignalGroup(unix.SIGTSTP); err != nil {
		return false
	}
	if !j.suspendSelf(alone, j.queue.ContinuedAtQuiet()) {
		j.resumeWorker()
	}
	return true
}

// Continued reports whether a CONT has been acted upon: it is the one that ended a stop of
// drainit's own, or has come together with one that was.
func (j *Job) Continued() bool {
	if j == nil {
		return false
	}
	before := j.resumed
	if j.resumed = j.queue.Continued(); j.resumed == before {
		return true
	}
	// A worker that waits for the terminal may have it now.
	if j.wantsTerminal() && j.tty.grantForeground(j.pgid) {
		j.resumeWorker()
		return true
	}
	return false
}

// What stops with drainit: a key stops its whole process group, which is the job
// that the shell knows; but where the key stopped the worker's group, or came to
// drainit's, only one of them has been sent the signal.
const (
	alone      = false
	wholeGroup = true
)

// suspendSelf stops drainit, as the job of a shell that it is, and continues the
// worker when the shell continues drainit. It reports false where none could. A CONT
// is newer than the reason for the stop if more than since have come.
func (j *Job) suspendSelf(group bool, since uint64) bool {
	if !j.MaySuspend() {
		return false
	}
	if j.calledBack(group, since) {
		return true
	}
	// A signal that calls drainit back until it stops would find it stopped for good.
	// So the stop is sent first, and asked about while it is blocked: what came before
	// is seen, and the CONT of what comes later discards it (kernel/signal.c,
	// prepare_signal).
	j.queue.AwaitContinue(true)
	defer j.queue.AwaitContinue(false)
	err := sendStop(group)
	if err != nil || j.calledBack(group, since) {
		_ = endStop(sigqueue.Ignore)
		if group {
			j.continueOthers()
		}
	} else if err = endStop(sigqueue.Default); err == nil {
		j.awaitContinue(since, time.Second, never)
		j.regrantForeground()
		j.resumeAll()
	}
	if err != nil {
		j.owner.Warn("cannot stop for the shell: " + err.Error())
	}
	return err == nil
}

// awaitContinue waits for the CONT that ended a stop, which is on its way from the
// runtime, unless the shell has died meanwhile and the kernel discarded the stop. enough
// ends the wait sooner.
func (j *Job) awaitContinue(since uint64, atMost time.Duration, enough func() bool) {
	for wait := time.Now().Add(atMost); j.queue.Continued() == since && !enough() && time.Now().Before(wait); {
		time.Sleep(time.Millisecond)
	}
}

func never() bool { return false }

// regrantForeground gives the worker the terminal again that it had or waits for, and
// reports whether it could: by fg, for after bg it is not drainit's to give.
func (j *Job) regrantForeground() bool {
	return (j.tty.granted || j.wantsTerminal()) && j.tty.grantForeground(j.pgid)
}

// resumeAll continues the worker, and counts each CONT so far as acted upon.
func (j *Job) resumeAll() {
	j.resumed = j.queue.Continued()
	j.resumeWorker()
}

// calledBack reports whether drainit must not stop, and the worker has been
// continued or will be signalled: a stop signal is in hand, or fg or bg came meanwhile.
func (j *Job) calledBack(group bool, since uint64) bool {
	j.drainSignals()
	switch {
	case j.queue.StopPending():
		// A shell sends TERM and then CONT to a job that is stopped, and a worker that
		// reads stops again at once: to stop with it would put off the TERM for good.
		return true
	case group && j.regrantForeground(): // by fg; a Ctrl-Z for drainit alone came because it had the terminal
		j.resumeWorker()
		j.awaitContinue(since, lateContinue, j.queue.StopPending)
		j.resumed = j.queue.Continued()
		return true
	case j.queue.Continued() != since:
		j.resumeAll()
		return true
	}
	return false
}

// lateContinue bounds the wait for the CONT of a shell that has given drainit the terminal. It
// comes right behind that: taken for a newer one, it would undo the next Ctrl-Z. It may never
// come: a stop discards it, and to a job that runs a shell sends none.
const lateContinue = 200 * time.Millisecond

// drainSignals waits until no signal is on its way through drainit: all its other threads
// sleep, and with one processor, for which they would sleep as well, all goroutines have
// had that. A shell that sent TERM and then CONT has had drainit woken by both, but the
// thread with the TERM may be late on a busy machine. Without /proc it waits for as long
// as such a thread takes as a rule.
func (j *Job) drainSignals() {
	const atMost, mostly = time.Second, 50 * time.Millisecond
	for began := time.Now(); !j.queue.StopPending(); {
		time.Sleep(time.Millisecond)
		runtime.Gosched()
		awake, err := proc.OthersAwake()
		asleep := len(awake) == 0 && err == nil
		if spent := time.Since(began); asleep || spent > atMost || err != nil && spent > mostly {
			return
		}
	}
}

// MaySuspend reports whether drainit can stop and has nothing else to do: a stop in
// progress, or on its way, ends with the grace.
func (j *Job) MaySuspend() bool {
	return j != nil && !j.queue.StopPending() && j.owner.MaySuspend() && j.canStop()
}

// canStop reports whether a process could continue drainit: its process group is
// not orphaned. In such a one the kernel discards the stop (setpgid(2)).
func (j *Job) canStop() bool {
	if os.Getpid() == 1 {
		return false
	}
	session, err := unix.Getsid(0)
	if err != nil {
		return false
	}
	for pid := os.Getppid(); pid > 0; {
		sid, err := unix.Getsid(pid)
		if err != nil || sid != session {
			return false
		}
		if group, err := unix.Getpgid(pid); err != nil || group != unix.Getpgrp() {
			return err == nil
		}
		p, err := j.read(pid)
		if err != nil {
			return false
		}
		pid = p.PPID
	}
	return false
}

// WorkerStopped acts on a worker that a signal has stopped, as a shell would on its job.
func (j *Job) WorkerStopped(by unix.Signal) {
	if j == nil {
		return
	}
	j.suspendedBy = by
	since := j.queue.Continued()
	fg, ok := j.tty.foreground()
	if !ok {
		return
	}
	switch {
	case j.wantsTerminal() && fg != j.pgid:
		if j.tty.grantForeground(j.pgid) {
			j.resumeWorker()
		} else {
			j.suspendSelf(wholeGroup, since) // in the background, as the worker is
		}
	case j.wantsTerminal():
		j.resumeWorker() // it has it by now
	case fg == j.pgid || j.tty.granted: // Ctrl-Z, or its own doing; it may have granted the terminal in turn
		if !j.suspendSelf(wholeGroup, since) {
			j.resumeWorker()
		}
	case fg == unix.Getpgrp() && (by == unix.SIGSTOP || by == unix.SIGTSTP):
		j.suspendSelf(wholeGroup, since)
	}
}
