package forward

import "drainit/internal/proc"

// lastCall is the reason of the last call.
const lastCall = "the grace period is nearly over, and no process has signalled it"

// addLastCall is rule 9. It adds those that handle the signal and were not signalled: drainit's
// children, those below one that may not act upon it, and those that are proven to have received
// nothing. The others are the business of a process that handles the stop and lives.
func (l *Ledger) addLastCall() {
	for _, p := range l.shown.Descendants(l.self) {
		m := l.living[p.PID]
		if m != nil && !l.leaves(m) && (m.origin == beforeStop || l.actsUpon(m) && l.hasItsTurn(m)) {
			l.add(l.delivery(m, lastCall))
		}
	}
}

// hasItsTurn reports whether a process that was not signalled is in the last call. The nearest
// above it that was sent the signal, or acts upon it, decides.
func (l *Ledger) hasItsTurn(m *record) bool {
	decided, yes := false, true
	for below, up := m, l.living[m.PPID]; up != nil; below, up = up, l.living[up.PPID] {
		switch {
		case l.planned[up.ID]: // it has its turn first
			return false
		case decided:
		case up.sent != nil && l.maySignalNone(up, below):
			decided = true
		case up.sent != nil, l.everActs(up):
			decided, yes = true, m.Untouched
		}
	}
	return yes
}

// everActs reports whether a process acts upon what another sends it, or has done so with
// a handler that was for once.
func (l *Ledger) everActs(m *record) bool {
	handled := m.handled.Has(l.signalFor(m)) || m.program != Shell && m.handled.Has(l.deliver)
	return handled && !m.alwaysHandles()
}

// maySignalNone reports whether a process that was signalled may not act upon it, and so
// not have signalled a child. A shell with a trap acts, unless it waits for that child, or
// another: one of them does not show that it is in the background.
func (l *Ledger) maySignalNone(up, child *record) bool {
	if !up.hasTrap() {
		return l.notActing(up)
	}
	switch up.waitsFor() {
	case proc.Waits:
		return true
	case proc.MayWait:
		return len(l.foreground(up)) > 0 || !inBackground(&child.Process, &up.Process)
	}
	return false
}
