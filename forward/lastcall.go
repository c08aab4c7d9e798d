package forward

// lastCall is the reason of the last call.
const lastCall = "the grace period is nearly over, and no process has signalled it"

// addLastCall is rule 9. It adds those that handle the signal and were not signalled: drainit's
// children, those below one that may not act upon it, and those that are proven to have received
// nothing. The others are the business of a process that handles the stop and lives. Of
// those that were signalled unseen it is only known that they should have died.
func (l *Ledger) addLastCall(c *cascade) {
	for _, p := range l.shown.Descendants(l.self) {
		m := l.living[p.PID]
		if m == nil || c.planned[m.ID] {
			continue
		}
		unseen := m.PPID == l.self && m.sent != nil && m.sent.unseen && !m.handled.Has(m.sent.signal)
		if unseen || !c.leaves(m) && l.hasItsTurn(m, c) {
			c.add(l.delivery(m, lastCall))
		}
	}
}

// hasItsTurn reports whether a process that was not signalled is in the last call.
func (l *Ledger) hasItsTurn(m *record, c *cascade) bool {
	if m.origin == beforeStop || !m.actsUpon(l.signalFor(m)) {
		return m.origin == beforeStop
	}
	decided, provenOnly := false, false
	below := m // on the way from up to m
	for up := l.living[m.PPID]; up != nil; up = l.living[up.PPID] {
		switch {
		case c.planned[up.ID], l.shown.HasWriters(up.PID): // it has its turn first
			return false
		case decided:
		case up.sent != nil && l.maySignalNone(up, below):
			decided = true
		case up.sent != nil, l.everActs(up):
			decided, provenOnly = true, true
		}
		below = up
	}
	return !provenOnly || m.Untouched
}

// everActs reports whether a process acts upon what another sends it, or has done so with
// a handler that was for once.
func (l *Ledger) everActs(m *record) bool {
	handled := m.handled.Has(l.signalFor(m)) || m.program != Shell && m.handled.Has(l.deliver)
	return handled && !m.alwaysHandles() && !m.Ignores(l.deliver)
}

// maySignalNone reports whether a process that was signalled may not act upon it, and so
// not have signalled a child. A shell with a trap acts, unless it waits for that child, or
// another.
func (l *Ledger) maySignalNone(up, child *record) bool {
	if up.program == Shell && up.sent.handled && !up.Pending.Has(up.sent.signal) {
		return l.mayWait(up, child)
	}
	return l.notActing(up)
}
