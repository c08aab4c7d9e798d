package forward

import (
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/program"
)

// This file has which processes are left alone, though their turn has come.

// isSpared reports whether a process is not signalled as long as one below it handles the signal, or has been
// sent it, and for a second more: it would pass on more than that signal to its child. Or it is a launcher or
// a shell with a trap that would be sent TERM in place of the stop signal, and may pass TERM on.
func (s *step) isSpared(m *record) bool {
	isInstead := m.kind != program.Other && s.signalFor(m) != s.deliver && m.Handles(unix.SIGTERM)
	passesTERM := isInstead && s.deliver != unix.SIGINT
	if !passesTERM && !program.Spreads(&m.Process) && !(s.byKey && m.kind == program.Launcher) {
		return false
	}
	drains := func(p *record) bool {
		isBelow := p != m && s.living[p.PID] == p && p.isBelow(m)
		return isBelow && (p.sent != nil || s.drains(p) && (!passesTERM || s.signalFor(p) == s.deliver))
	}
	switch {
	case slices.ContainsFunc(s.all, drains):
		m.sparedUntil = program.Forever
	case m.sparedUntil == program.Forever:
		m.sparedUntil = s.now + aSecond
		s.lookAgain(m.sparedUntil)
	}
	return s.now < m.sparedUntil
}
