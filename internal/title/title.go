// Package title publishes drainit's phase as the name of its main thread, which ps shows
// and the verbs read, and reads it back.
//
// It owns the names. It needs no file and no socket, so that it works with a read-only
// root and in an image that holds nothing else.
package title

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"drainit/internal/phase"
)

// state is what one title says.
type state struct {
	title string // at most 15 bytes (PR_SET_NAME(2const))
	phase phase.Phase
	alive bool // the worker; one that is being killed has not ended
}

var states = [...]state{
	{"drainit:run", phase.Running, true},
	{"drainit:quiet", phase.Quiet, true},
	{"drainit:drain", phase.Draining, true},
	{"drainit:ended", phase.Draining, false},
	{"drainit:kill", phase.Killing, true},
}

// State is what a title says.
type State struct {
	Phase                                      phase.Phase
	WorkerAlive, WorkerStopped, QuietUnhandled bool
}

// Force is the name of a drainit stop --force.
const Force = "drainit:force"

// Of is the title of a phase, "" for one that has none: before the worker starts, and at
// the end.
func Of(now State) string {
	p, workerAlive := now.Phase, now.WorkerAlive
	if p == phase.Running && now.WorkerStopped {
		return "drainit:stopped"
	}
	for _, s := range states {
		if s.phase == p && (s.alive == workerAlive || p != phase.Draining) {
			return s.title
		}
	}
	return ""
}

// Parse reads a title. ok is false where it is none of drainit's.
func Parse(title string) (p phase.Phase, workerAlive, ok bool) {
	for _, s := range states {
		if s.title == title {
			return s.phase, s.alive, true
		}
	}
	return phase.Starting, false, false
}

// Set names the calling thread, which must be the main one. Where it fails, the verbs
// find no drainit, and say so.
func Set(title string) {
	name := append([]byte(title), 0)
	_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0)
}
