package forward

// This file has which processes the last and the final call signal, near the end of the grace period.

// calls returns why the last or the final call signals a process, and "" if neither does. Both take only what
// handles the signal. The last call takes it if its turn has come and no living process above it may signal
// it. The final call takes it in any case, the upper ones first: the kill is near. With --forward none, both
// take only those that the platform has missed.
func (s *step) calls(m *record) string {
	switch {
	case s.Purpose < LastCall, !s.actsUpon(m):
	case s.Mode == ModeNone:
		if m.isMissed() {
			return "the platform has not signalled it"
		}
	case s.Purpose == FinalCall:
		if !s.coveredByAncestor(m) {
			return "the kill is near"
		}
	case s.turn(m).none() && s.noneActsAbove(m):
		return "the grace period is nearly over"
	}
	return ""
}

// noneActsAbove reports whether nothing that lives above m, and that m came from by living ones alone, may
// yet signal m. A celery waits for its jobs, and its pool would end them.
func (s *step) noneActsAbove(m *record) bool {
	up, its := s.expected(m, false)
	return up == nil || its.ticks > 0
}

// isDue reports whether a process is signalled in this step, which has decided about it.
func (s *step) isDue(m *record) bool {
	return m.sent == nil && s.living[m.PID] == m && (m.fate == due || m.call)
}

// coveredByAncestor reports whether the final call leaves a process to one above it. That one is signalled
// now, or was moments ago (actsAfter). Or it was signalled less than two seconds ago and has woken the
// process since: it may pass the signal on.
func (s *step) coveredByAncestor(m *record) bool {
	for up := m.parent; up != nil; up = up.parent { // which may have gone by now
		switch {
		case s.isDue(up):
			return true
		case up.sent == nil || s.now >= up.sent.tick+2*aSecond:
		case s.now < up.sent.tick+actsAfter, m.lastUntouched == up.sent.snapshot: // it rested until then
			return true
		}
	}
	return false
}
