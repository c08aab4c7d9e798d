package supervisor

import (
	"drainit/internal/title"
)

// workerLives is true, too, of a worker that runs on in what it left.
func (s *supervisor) workerLives() bool { return !s.gone || s.daemon }

// showPhase tells those outside what has changed.
func (s *supervisor) showPhase() {
	s.health.Publish(s.machine.Phase(), s.workerLives())
	text := title.Of(s.machine.Phase(), s.workerLives())
	if text == "" || text == s.shown {
		return
	}
	s.shown = text
	title.Set(text)
}
