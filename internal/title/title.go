// Package title publishes drainit's phase as the name of its main thread, which ps shows
// and the verbs read, and reads it back. The stop, with its times, is the name of another
// of its threads.
//
// It owns the names. It needs no file and no socket, so that it works with a read-only
// root and in an image that holds nothing else.
package title

import (
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"drainit/internal/phase"
)

// State is what a title says.
type State struct {
	Phase          phase.Phase
	WorkerAlive    bool // or starts, or is being killed
	WorkerStopped  bool // in state T, while running
	QuietUnhandled bool // no process handled the quiet signal, while quiet
}

// titles are those of each phase, in the order in which they are tried, of 15 bytes at most
// (PR_SET_NAME(2const)).
var titles = [...]struct {
	text string
	State
}{
	{"drainit:start", State{Phase: phase.Starting, WorkerAlive: true}},
	{"drainit:stopped", State{Phase: phase.Running, WorkerAlive: true, WorkerStopped: true}},
	{"drainit:run", State{Phase: phase.Running, WorkerAlive: true}},
	{"drainit:quiet?", State{Phase: phase.Quiet, WorkerAlive: true, QuietUnhandled: true}},
	{"drainit:quiet", State{Phase: phase.Quiet, WorkerAlive: true}},
	{"drainit:ended", State{Phase: phase.Draining}},
	{"drainit:drain", State{Phase: phase.Draining, WorkerAlive: true}},
	{"drainit:kill", State{Phase: phase.Killing, WorkerAlive: true}},
}

// Pause is the title of a drainit that runs no worker.
const Pause = "drainit:pause"

// Force is what a verb is called that asks the drainit with this pid for a force-stop: a
// stop signal is one then, whether or not a second one is ignored.
func Force(pid int) string { return "force:" + strconv.Itoa(pid) }

// Of is the title of a state, "" at the end, which has none: the first of those of its phase
// that says nothing untrue.
func Of(s State) string {
	for _, t := range titles {
		if t.Phase == s.Phase && (t.WorkerAlive || !s.WorkerAlive) && (s.WorkerStopped || !t.WorkerStopped) && (s.QuietUnhandled || !t.QuietUnhandled) {
			return t.text
		}
	}
	return ""
}

// Parse reads a title. ok is false where it is none of drainit's.
func Parse(title string) (s State, ok bool) {
	for _, t := range titles {
		if t.text == title {
			return t.State, true
		}
	}
	return State{}, false
}

// Set names the calling thread, which must be the main one. Where it fails, the verbs
// find no drainit, and say so.
func Set(title string) {
	name := append([]byte(title), 0)
	_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0)
}
