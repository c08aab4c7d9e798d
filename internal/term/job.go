package term

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/sigqueue"
)

// Owner is what a Job asks of the loop that owns the worker.
type Owner interface {
	// MaySuspend reports whether drainit may stop for a shell: the worker lives, and no
	// stop is in progress.
	MaySuspend() bool
	// Members returns the living processes of a process group, none where /proc can't be read.
	Members(pgid int) []*proc.Process
	// SignalGroup signals the worker's process group, or the worker alone if it has left that group.
	SignalGroup(unix.Signal) error
}

// Job is the worker as a job of drainit on a terminal: in a process group of its own, in the
// background until it reads the terminal. Without a terminal it is nil.
type Job struct {
	tty   *Terminal
	queue *sigqueue.Queue
	owner Owner
	pgid  int // the process group that the worker was given

	suspended     bool // the worker is stopped, and the next CONT continues it
	wantsTerminal bool // it stopped because it does not have the terminal

	exited             bool // the worker exited by itself, and has restored the modes as it wants them
	interrupted        bool // the worker died of Ctrl-C
	mustInterruptGroup bool // Ctrl-C has not reached drainit's process group
}

// NewJob returns the job of a terminal. It is nil if tty is nil.
func NewJob(tty *Terminal, queue *sigqueue.Queue, owner Owner) *Job {
	if tty == nil {
		return nil
	}
	return &Job{tty: tty, queue: queue, owner: owner}
}

// Started notes the process group of the worker.
func (j *Job) Started(pgid int) {
	if j != nil {
		j.pgid = pgid
	}
}

// ReturnTerminal takes the foreground back, and restores the modes unless the worker could do that itself.
func (j *Job) ReturnTerminal() {
	if j == nil {
		return
	}
	j.tty.reclaimForeground(j.pgid)
	if !j.exited {
		j.tty.restoreModes()
	}
}

// Granted reports whether the worker has been given the terminal.
func (j *Job) Granted() bool { return j != nil && j.tty.granted }

// HungUp reports whether the terminal is gone: no person can see or stop the worker.
func (j *Job) HungUp() bool { return j != nil && j.tty.foreground() == hungUp }

// Known reports whether a worker's death by this signal needs no line: people and pipelines at a
// terminal end programs by it.
func (j *Job) Known(sig unix.Signal) bool {
	known := signals.SetOf(unix.SIGINT, unix.SIGQUIT, unix.SIGPIPE)
	return j != nil && known.Has(sig) || sig == unix.SIGHUP && j.HungUp()
}

// GroupStopped reports whether a process in the worker's group is stopped. If /proc can't be read, the job's
// own state tells.
func (j *Job) GroupStopped() bool {
	members := j.owner.Members(j.pgid)
	return len(members) == 0 && j.suspended || slices.ContainsFunc(members, (*proc.Process).Stopped)
}

// RecordExit notes a worker that has ended, and whether by Ctrl-C: by the key itself, or by what
// drainit sent it for its own INT. by is the signal that the worker died of, and requested the stop
// signal that came to drainit, each 0 for none. deliver is what requested is rewritten to, and sent
// says that the worker was sent the signal by.
func (j *Job) RecordExit(by, requested, deliver unix.Signal, sent bool) {
	if j == nil {
		return
	}
	j.suspended, j.exited, j.interrupted = false, by == 0, false
	switch {
	case by == 0 || os.Getpid() == 1: // PID 1 is no job of a shell
	case requested == unix.SIGINT:
		j.interrupted = sent && (by == deliver || by == unix.SIGTERM) // TERM is for a shell
	case requested == 0 && by == unix.SIGINT && j.tty.granted && j.tty.foreground() == j.pgid:
		j.interrupted, j.mustInterruptGroup = true, true
	}
}

// Interrupted reports whether drainit is to end by INT itself.
func (j *Job) Interrupted() bool { return j != nil && j.interrupted }

// InterruptGroup sends INT to drainit's process group where Ctrl-C has reached only the worker's.
// Else the script that runs drainit would go on.
func (j *Job) InterruptGroup() {
	if j != nil && j.mustInterruptGroup {
		_ = unix.Kill(0, unix.SIGINT)
	}
}

// EndByInterrupt ends drainit by INT, and returns where the kernel discards that. After Ctrl-C a
// shell ends its loop or script if its child died of INT, but goes on if the child exited, with any
// status ("Signals" in bash(1)).
func EndByInterrupt() {
	if _, err := sigqueue.SetAction(unix.SIGINT, sigqueue.Default); err == nil {
		_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGINT) // taken before the call returns
	}
}
