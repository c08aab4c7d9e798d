package forward

import (
	"time"

	"drainit/internal/proc"
)

// Recheck is when those are to be looked at once more, though none has died, that were
// signalled and have not acted upon it yet; 0 for never. The longer that has not changed,
// the more rarely.
func (l *Ledger) Recheck(now uint64) time.Duration {
	const soon = 60 * time.Millisecond // behind actsAfter
	next := time.Duration(0)
	for _, m := range l.living {
		switch again := l.againAfter(m, now); {
		case l.isHeld(m, now), again > 0 && m.sent != nil && now < m.sent.tick+actsAfter:
			return soon
		case again > 0 && (next == 0 || again < next):
			next = again
		}
	}
	return next
}

// isHeld reports whether an orphan is kept from being signalled for a moment.
func (l *Ledger) isHeld(m *record, now uint64) bool {
	return m.heldSince != 0 && m.sent == nil && now < m.heldSince+aSecond
}

// againAfter is how long one that was signalled, or left alone, may be left before it is
// looked at once more; 0 where what is below it does not depend on it.
func (l *Ledger) againAfter(m *record, now uint64) time.Duration {
	const least, most = time.Second, 5 * time.Second // behind aSecond
	switch {
	case !m.hasChildren, m.sent == nil && !m.leftAlone:
		return 0
	case m.sent == nil, now < m.sent.tick+aSecond:
		return least
	case l.notActing(m):
		const tick = 10 * time.Millisecond
		return min(max(time.Duration(now-m.sent.tick)*tick/2, least), most)
	}
	return 0
}

// Glance is what those are to be looked at for, and no others: it tells mostly that no
// snapshot is due. ok is false where it can't.
func (l *Ledger) Glance(now uint64, until time.Time) (w proc.Want, ok bool) {
	const most = 64 // more are a snapshot, nearly
	w.These = []int{}
	for _, m := range l.living {
		if l.isHeld(m, now) {
			return w, false
		}
		if l.againAfter(m, now) > 0 {
			w.These = append(w.These, m.PID)
		}
	}
	w.Signals, w.Until = stopSignals(l.deliver), until
	return w, len(w.These) <= most
}

// Glanced notes what a glance shows, and reports whether a snapshot is due by it: one of
// those can't act upon what it was sent, or may not, and has children that were not
// signalled. The others act, as far as the next snapshot is concerned.
func (l *Ledger) Glanced(w proc.Want, s *proc.Snapshot) (due bool) {
	waits := l.parentsOfUnsent()
	for _, pid := range w.These {
		m := l.living[pid]
		p, ok := s.Process(pid)
		if !ok || m == nil || p.ID != m.ID || !p.Alive() {
			due = true
			continue
		}
		sig := l.reached(m)
		handled := m.handledIt(sig) || p.Handles(sig)
		switch {
		case !handled, deafNow(&p, sig) != "", ProgramOf(&p) == Shell && s.MayWait(pid) && waits[pid]:
			due = true
		default:
			m.actsAt = l.snapshots
		}
	}
	return due
}

// parentsOfUnsent are the pids of those that have children which were not signalled.
func (l *Ledger) parentsOfUnsent() map[int]bool {
	parents := make(map[int]bool)
	for _, m := range l.living {
		if m.sent == nil && !m.leftAlone {
			parents[m.PPID] = true
		}
	}
	return parents
}
