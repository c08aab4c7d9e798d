package forward

import "drainit/internal/program"

// addLastCall is rule 9. The last call adds those that are not the business of a living process which
// handles the stop; the final call adds those as well, the upper ones first: the kill loses their work in
// any case.
func (l *Ledger) addLastCall(final bool) {
	for _, m := range l.shownNow() {
		switch {
		case m.sent != nil || l.planned[m.ID]:
		case final && l.actsUpon(m):
			if !l.isSeenTo(m) {
				l.addLate(m, "the kill is near")
			}
		case l.shown.HasWriters(m.PID):
		case m.origin == beforeStop, l.actsUpon(m) && l.isOwnCase(m):
			l.addLate(m, "the grace period is nearly over")
		}
	}
}

func (l *Ledger) addLate(m *record, why string) {
	d := l.delivery(m, why)
	d.Late = true
	l.add(d)
}

// isSeenTo reports whether the final call leaves a process to one above it: to one that is signalled now, or
// was moments ago, or that has woken it by what it did about the signal.
func (l *Ledger) isSeenTo(m *record) bool {
	for up := m.parent; up != nil; up = up.parent { // which may have gone by now
		switch {
		case l.planned[up.ID]:
			return true
		case up.sent == nil || l.now >= up.sent.tick+2*aSecond:
		case l.now < up.sent.tick+actsAfter, !m.Untouched && m.rested == up.sent.snapshot:
			return true
		}
	}
	return false
}

// isOwnCase reports whether no process above one that was not signalled is about to be signalled, or may
// act upon the signal: a celery waits for its jobs, and its pool would end them.
func (l *Ledger) isOwnCase(m *record) bool {
	for below, up := m, l.living[m.PPID]; up != nil; below, up = up, l.living[up.PPID] {
		if l.planned[up.ID] || l.mayPassOn(up, below) {
			return false
		}
	}
	return true
}

// mayPassOn reports whether a process may have acted upon the signal, and so have signalled a child. A
// shell with a trap does so for a child in its background, unless it is known to wait in wait4(2).
func (l *Ledger) mayPassOn(up, child *record) bool {
	switch {
	case !up.hasTrap():
		return !l.notActing(up)
	case l.hasStarted(up):
		return true
	case up.waitsFor() == program.MayWait:
		return program.InBackground(&child.Process, &up.Process)
	}
	return up.waitsFor() == program.NotWaiting
}
