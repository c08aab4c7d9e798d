package term

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/sigqueue"
)

// Owner is what a Job asks of the loop that owns the worker.
type Owner interface {
	// MaySuspend reports whether drainit may stop for a shell: the worker lives, and no
	// stop is in progress.
	MaySuspend() bool
	Snapshot(proc.Want) (*proc.Snapshot, error)
	// SignalGroup signals the worker's process group, or the worker where it has left it.
	SignalGroup(unix.Signal) error
	Warn(msg string)
}

// Job is the worker as a job of drainit's on a terminal: in a process group of its own, in
// the background, until it reads the terminal. A nil Job is that of a drainit without one.
type Job struct {
	tty   Terminal
	queue *sigqueue.Queue
	owner Owner
	pgid  int // the process group that the worker was given

	suspendedBy unix.Signal // by which the worker is stopped, 0 where it is not
	resumed     uint64      // how many CONT had come when the last was acted upon

	interrupted        bool // the worker died of Ctrl-C
	mustInterruptGroup bool // which has not reached drainit's process group
}

// NewJob returns the job of a terminal, nil where there is none.
func NewJob(tty Terminal, queue *sigqueue.Queue, owner Owner) *Job {
	if !tty.Exists() {
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

// KeepModes reads the terminal's modes before the worker can change them.
func (j *Job) KeepModes() {
	if j != nil {
		j.tty.keepModes()
	}
}

// Granted reports whether the worker has been given the terminal: a shell that has it is
// there for its own sake.
func (j *Job) Granted() bool { return j != nil && j.tty.granted }

// Interactive reports whether drainit is, or may be, the job of a shell.
func (j *Job) Interactive() bool { return j != nil && os.Getpid() != 1 }

// HungUp reports whether the terminal is gone: no person can see or stop the worker.
func (j *Job) HungUp() bool { return j != nil && j.tty.gone() }

// Known reports whether a death by a signal is what people at a terminal end programs by,
// and what pipelines end by: they know.
func (j *Job) Known(sig unix.Signal) bool {
	switch sig {
	case unix.SIGINT, unix.SIGQUIT, unix.SIGPIPE:
		return j != nil
	case unix.SIGHUP:
		return j.HungUp()
	}
	return false
}

// ReturnTerminal gives the terminal back where it came from, with its modes where the
// worker had no chance to restore them.
func (j *Job) ReturnTerminal(restoreModes bool) {
	if j == nil {
		return
	}
	j.tty.reclaimForeground(j.pgid)
	if restoreModes {
		j.tty.restoreModes()
	}
}

// read reads the stat of one process.
func (j *Job) read(pid int) (proc.Process, error) {
	all, err := j.owner.Snapshot(proc.Want{Only: pid})
	p, _ := all.Process(pid)
	return p, err
}

// wantsTerminal reports whether the worker is stopped until it has the terminal.
// top handles TTOU, and then stops itself; so does another drainit, by TSTP.
func (j *Job) wantsTerminal() bool {
	switch j.suspendedBy {
	case unix.SIGTTIN, unix.SIGTTOU:
		return true
	case unix.SIGSTOP, unix.SIGTSTP:
		return !j.tty.granted && j.groupHandles(unix.SIGTTOU)
	}
	return false
}

// groupHandles reports whether a process in the worker's group has a handler for a signal.
func (j *Job) groupHandles(sig unix.Signal) bool {
	all, err := j.owner.Snapshot(proc.Want{})
	if err != nil {
		return false
	}
	return slices.ContainsFunc(all.Group(j.pgid), func(p *proc.Process) bool { return p.Handles(sig) })
}

// GroupStopped reports whether a process in the worker's group is stopped, or is about
// to be.
func (j *Job) GroupStopped() bool {
	all, err := j.owner.Snapshot(proc.Want{Group: j.pgid})
	if err != nil {
		return j.suspendedBy != 0
	}
	return slices.ContainsFunc(all.Group(j.pgid), func(p *proc.Process) bool { return p.Stopped() || p.StopPending() })
}

func (j *Job) resumeWorker() {
	j.suspendedBy = 0
	_ = j.owner.SignalGroup(unix.SIGCONT) // what fails has been warned of
}
