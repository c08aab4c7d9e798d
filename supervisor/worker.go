package supervisor

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/reaper"
)

// worker is the process whose exit status drainit reports.
type worker struct {
	PID        int
	PGID       int    // the process group that the first worker was given
	Comm       string // as last seen
	Sent       signals.Set
	Exit       *exit // nil until it has been waited for
	Daemonized bool  // it has exited, and runs on in what it left, by --forking
}

// exit is how and when a worker ended.
type exit struct {
	reaper.WaitEvent
	At time.Time
}

// Gone reports whether the worker has been waited for.
func (w *worker) Gone() bool { return w.Exit != nil }

// Alive is true, too, of a worker that runs on in what it left.
func (w *worker) Alive() bool { return !w.Gone() || w.Daemonized }

// Process is the worker as far as it is known without /proc.
func (w *worker) Process() proc.Process {
	return proc.Process{ID: proc.ID{PID: w.PID}, Comm: w.Comm}
}

// String names the worker: "node[17]".
func (w *worker) String() string { return proc.Label(w.Comm, w.PID) }

// howExited is for a line; the worker must be gone.
func (w *worker) howExited() string {
	if sig := w.Exit.TermSignal(); sig != 0 {
		return "died of " + signals.Name(sig)
	}
	return fmt.Sprintf("exited with status %d", w.Exit.ExitStatus())
}

// promote makes a successor the worker. sent is the stop signal that it was sent, 0 for
// none.
func (w *worker) promote(to proc.Process, sent unix.Signal) {
	w.PID, w.Comm, w.Exit, w.Sent = to.PID, to.Comm, nil, signals.SetOf(sent)
}
