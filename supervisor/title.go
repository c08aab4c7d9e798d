package supervisor

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The titles of drainit: its comm, at most 15 bytes, which ps shows and the
// verbs read. Before the worker runs there is none.
const (
	titleRunning  = "drainit:run"
	titleQuiet    = "drainit:quiet"
	titleDraining = "drainit:drain"
	titleEnded    = "drainit:ended" // draining, and the worker itself has ended
	titleKilling  = "drainit:kill"
)

// title is what drainit shows of itself now.
func (s *supervisor) title() string {
	switch s.machine.Phase() {
	case Running:
		return titleRunning
	case Quiet:
		return titleQuiet
	case Draining:
		if s.workerLives() {
			return titleDraining
		}
		return titleEnded
	case Killing:
		return titleKilling
	}
	return ""
}

// workerLives is true, too, of a worker that runs on in what it left.
func (s *supervisor) workerLives() bool { return !s.gone || s.daemon }

// showPhase tells those outside what has changed. The title is the name of the
// main thread, which this is (PR_SET_NAME(2const)).
func (s *supervisor) showPhase() {
	s.health.show(s.machine.Phase(), s.workerLives())
	title := s.title()
	if title == "" || title == s.shown {
		return
	}
	s.shown = title
	name := append([]byte(title), 0)
	// Where it fails, the verbs find no drainit, and say so.
	_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0)
}
