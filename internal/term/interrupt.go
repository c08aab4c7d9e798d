package term

import (
	"golang.org/x/sys/unix"

	"drainit/internal/signals"
	"drainit/internal/sigqueue"
	"drainit/reaper"
)

// EndByInterrupt ends drainit by INT. It is the last thing to do: it comes back
// only where the kernel discards the signal.
//
// A shell ends a loop or a script by Ctrl-C where it sees that its child died of
// INT, and goes on where the child exited, with whatever status ("Exit Status" and
// "Signals" in bash(1)).
func EndByInterrupt() {
	if _, err := sigqueue.SetAction(unix.SIGINT, sigqueue.Default); err == nil {
		_ = reaper.SignalThread(unix.Gettid(), unix.SIGINT) // taken before the call returns
	}
}

// RecordExit notes a worker that has ended, and whether by Ctrl-C: by what drainit sent it for its
// own INT, or of the key itself. by is the signal that it died of, 0 for none; requested
// the stop signal that came, 0 for none; sent what drainit sent the worker, of which
// deliver was for that request.
func (j *Job) RecordExit(by, requested, deliver unix.Signal, sent signals.Set) {
	if j == nil {
		return
	}
	j.suspendedBy, j.interrupted = 0, false
	if by == 0 || !j.Interactive() {
		return
	}
	if requested == unix.SIGINT {
		j.interrupted = sent.Has(by) && (by == deliver || by == unix.SIGTERM) // TERM is for a shell
		return
	}
	fg, _ := j.tty.foreground()
	if requested == 0 && by == unix.SIGINT && j.tty.granted && fg == j.pgid {
		j.interrupted, j.mustInterruptGroup = true, true
	}
}

// InterruptedEarly notes a Ctrl-C before the worker was started.
func (j *Job) InterruptedEarly() {
	if j.Interactive() {
		j.interrupted = true
	}
}

// Interrupted reports whether drainit is to end by INT itself.
func (j *Job) Interrupted() bool { return j != nil && j.interrupted }

// InterruptGroup sends INT to drainit's process group where the key has reached only the
// worker's: the script that drainit is a part of would go on.
func (j *Job) InterruptGroup() {
	if j != nil && j.mustInterruptGroup {
		_ = reaper.SignalOwnGroup(unix.SIGINT)
	}
}
