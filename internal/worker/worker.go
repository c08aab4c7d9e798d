// Package worker is the process whose exit status drainit reports, as a value, and the reasons of its end.
// The supervisor fills it in, and others read it.
package worker

import (
	"fmt"
	"time"

	"drainit/forward"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/reaper"
)

// Worker is the process whose exit status drainit reports.
type Worker struct {
	PID        int
	Began      time.Time // when it was started
	PGID       int       // the process group that the first worker was given
	Comm       string    // as last seen
	Stopped    bool      // in state T, and neither by drainit nor on a terminal
	Exit       *Exit     // nil until it has been waited for
	Daemonized bool      // it has exited, and runs on in what it left, by --forking
	Kill       Kill      // at the end of its stop
}

// Exit is how, when and by what a process ended.
type Exit struct {
	reaper.WaitEvent
	At time.Time
	forward.Cause
}

// Gone reports whether the worker has been waited for.
func (w *Worker) Gone() bool { return w.Exit != nil }

// Alive reports whether the worker runs, if only in what it left.
func (w *Worker) Alive() bool { return w.PID != 0 && !w.Gone() || w.Daemonized }

// Is reports whether this is the pid of the worker, which has not been waited for.
func (w *Worker) Is(pid int) bool { return !w.Gone() && pid == w.PID }

// Process returns the worker as far as it is known without /proc.
func (w *Worker) Process() proc.Process {
	return proc.Process{ID: proc.ID{PID: w.PID}, Comm: w.Comm}
}

// String names the worker: "node[17]".
func (w *Worker) String() string { return w.Process().String() }

func (e Exit) String() string {
	if sig := e.TermSignal(); sig != 0 {
		return "died of " + signals.Name(sig)
	}
	return fmt.Sprintf("exited with status %d", e.ExitStatus())
}
