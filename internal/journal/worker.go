package journal

import (
	"golang.org/x/sys/unix"

	"drainit/internal/logx"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/reaper"
)

// The lines about the worker: its start, its state and its end.

// NotStarted is why there is no worker.
func (j *Journal) NotStarted(why string) {
	j.message = why
	j.error(nil, "%s", why)
}

// StoppedEarly is a stop signal that came before the worker was started.
func (j *Journal) StoppedEarly(sig unix.Signal) {
	j.message = signals.Name(sig) + " came before the start: the worker is not started"
	j.info(of(sig), "%s", j.message)
}

// Started is a worker that runs.
func (j *Journal) Started() { j.debug(j.aboutWorker(), "started %v", j.worker) }

// Successor is the process that took the worker's place.
func (j *Journal) Successor(p proc.Process) {
	j.debug(about(p), "%v %s; %v is the worker now", j.worker, j.worker.HowExited(), p)
}

// Daemonized is a worker that exited and runs on in what it left.
func (j *Journal) Daemonized(left []*proc.Process) {
	these := Left{All: left}
	j.info(j.aboutWorker(these.count()), "%v %s and runs on in %v", j.worker, j.worker.HowExited(), these)
}

// WorkerStopped is a worker that another has stopped: it is alive and does nothing.
func (j *Journal) WorkerStopped() {
	if j.Once("stopped") {
		j.warn(j.aboutWorker(), "%v is stopped (state T) and does no work; drainit did not stop it, and SIGCONT continues it (kill -CONT %d)", j.worker, j.worker.PID)
	}
}

// KilledFromOutside is a worker that died of a signal which drainit did not send: by the
// status alone it looks like a stop.
func (j *Journal) KilledFromOutside(by unix.Signal) {
	why := "it came from the worker itself, or from outside"
	if by == unix.SIGKILL {
		why = "out of memory, or a kill from outside"
	}
	j.message = j.worker.String() + " was killed by " + signals.Name(by) + ", which drainit did not send: " + why
	j.warn(j.aboutWorker(of(by)...), "%s", j.message)
}

// KilledByForwarded is a worker that died of a signal which drainit forwarded: by the status
// alone it looks like a stop.
func (j *Journal) KilledByForwarded(by unix.Signal) {
	j.message = j.worker.String() + " died of " + signals.Name(by) + ", which drainit forwarded"
	if j.worker.Unhandled.Has(by) {
		j.message += ": it has no handler for it"
	}
	j.warn(j.aboutWorker(of(by)...), "%s", j.message)
}

// Reaped is an orphan that has ended, as tini's -w says it. Its name went with it.
func (j *Journal) Reaped(e reaper.WaitEvent) {
	j.warn([]logx.Field{logx.Number("pid", e.PID)}, "reaped orphan %d, exit status %d", e.PID, e.ExitStatus())
}
