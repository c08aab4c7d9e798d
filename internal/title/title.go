// Package title publishes drainit's phase as the name of its main thread, which ps shows and the subcommands
// read. It also defines the format of the notes that drainit keeps in memory for drainit status.
//
// A title needs no file and no socket, so that it works with a read-only root and in an image that holds
// nothing else.
package title

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
)

// State is what a title says.
type State struct {
	Phase         machine.Phase
	WorkerAlive   bool // or is being killed; while starting, it has been started and is not ready
	WorkerStopped bool // in state T, while running
	Quiet         Quiet
}

// Quiet is what came of the last quiet or resume signal, while quiet.
type Quiet uint8

// What came of it.
const (
	Handled      Quiet = iota // processes that handle the quiet signal were sent it
	Unhandled                 // no process handles it
	Unknown                   // /proc does not show which process handles it, and none was sent it
	Unresumed                 // no quieted process handles the resume signal
	UnresumedToo              // likewise: each such signal changes it from one to the other
)

// Ready reports whether the worker takes work, as far as drainit can know.
func (s State) Ready() bool { return s.Phase == machine.Running && !s.WorkerStopped }

// titles are of 15 bytes at most (PR_SET_NAME(2const)).
var titles = map[string]State{
	"drainit:start":   {Phase: machine.Starting},
	"drainit:startup": {Phase: machine.Starting, WorkerAlive: true},
	"drainit:run":     {Phase: machine.Running, WorkerAlive: true},
	"drainit:stopped": {Phase: machine.Running, WorkerAlive: true, WorkerStopped: true},
	"drainit:quiet":   {Phase: machine.Quiet, WorkerAlive: true},
	"drainit:quiet?":  {Phase: machine.Quiet, WorkerAlive: true, Quiet: Unhandled},
	"drainit:quiet??": {Phase: machine.Quiet, WorkerAlive: true, Quiet: Unknown},
	"drainit:quiet!":  {Phase: machine.Quiet, WorkerAlive: true, Quiet: Unresumed},
	"drainit:quiet!!": {Phase: machine.Quiet, WorkerAlive: true, Quiet: UnresumedToo},
	"drainit:drain":   {Phase: machine.Draining, WorkerAlive: true},
	"drainit:ended":   {Phase: machine.Draining},
	"drainit:kill":    {Phase: machine.Killing, WorkerAlive: true},
}

// Pause is the title of a drainit that runs no worker.
const Pause = "drainit:pause"

// Of returns the title of a state, "" for phase Done. Flags that do not matter in its phase are
// ignored.
func Of(s State) string {
	s.WorkerAlive = s.WorkerAlive || s.Phase != machine.Draining && s.Phase != machine.Starting
	s.WorkerStopped = s.WorkerStopped && s.Phase == machine.Running
	if s.Phase != machine.Quiet {
		s.Quiet = Handled
	}
	for title, state := range titles {
		if state == s {
			return title
		}
	}
	return ""
}

// Parse reads a title. ok is false if it is not one of drainit's.
func Parse(title string) (s State, ok bool) {
	s, ok = titles[title]
	return s, ok
}

// Set names the calling thread, which must be the main one. The subcommands look for a drainit by this name:
// if Set fails, they find none.
func Set(title string) {
	name := append([]byte(title), 0)
	_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0)
}

// Notes is the name by which /proc shows drainit's file in memory (memfd_create(2)), which only a process
// that may trace drainit can read. Its lines are KEY:TEXT. The text of Worker is the worker's pid, and that
// of the last Stopping is a Stop. Any other key is the ID of a process, and its text what was decided about
// it.
const (
	Notes    = "/memfd:drainit (deleted)"
	Worker   = "worker"
	Stopping = "stop"
)

// Stop is the stop that drainit is in.
type Stop struct {
	Signal unix.Signal   // the first that requested it; 0 where the worker ended by itself
	Sends  unix.Signal   // what processes are sent for it
	Since  time.Duration // after boot
	Grace  time.Duration // from Since to SIGKILL, or machine.Forever
}

// String returns the four numbers of a stop, with its times in nanoseconds.
func (s Stop) String() string {
	return fmt.Sprint(int(s.Signal), int(s.Sends), int64(s.Since), int64(s.Grace))
}

// ParseStop parses what Stop.String returns. ok is false if a number is missing.
func ParseStop(text string) (s Stop, ok bool) {
	n, _ := fmt.Sscan(text, &s.Signal, &s.Sends, &s.Since, &s.Grace)
	return s, n == 4
}
