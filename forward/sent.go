package forward

import (
	"drainit/internal/proc"
)

// Sent notes a delivery that was made, or may not be (EPERM): either way it is not made
// again. tick is proc.Ticks from before it was made.
func (l *Ledger) Sent(d Delivery, tick uint64) {
	how := &sent{signal: d.Signal, snapshot: l.snapshots, tick: tick}
	if d.Target == ToGroup { // a process that was forked between the snapshot and the call is seen later
		l.group, l.toGroup = d.PGID, how
	}
	switch {
	case l.start == nil: // /proc could not be read
		l.early = how
	case d.Target == ToGroup:
		for _, p := range d.Members {
			l.sentTo(p.ID, how)
		}
	default:
		l.sentTo(d.Process.ID, how)
	}
}

func (l *Ledger) sentTo(id proc.ID, how *sent) {
	m := l.records[id]
	if m == nil { // it came after the snapshot
		m = &record{Process: proc.Process{ID: id}}
		l.records[id] = m
	}
	if m.sent == nil || m.sent.unseen {
		m.markSent(*how)
	}
}

// sentWithGroup reports whether one that is seen for the first time was signalled with
// its group. A fork that was under way gives its child the signal and a later start
// (kernel/fork.c, copy_process), much later on a busy machine: by then its parent has
// died of the signal. In doubt it was, for none is signalled twice.
func (l *Ledger) sentWithGroup(m *record) bool {
	if l.toGroup == nil || m.sent != nil || m.PGID != l.group {
		return false
	}
	const underWay, orphaned = 10, 1000 // ticks
	if m.PPID == l.self {
		return m.Start <= l.toGroup.tick+orphaned
	}
	return m.Start <= l.toGroup.tick+underWay
}

// Quieted notes that a process was sent the quiet signal.
func (l *Ledger) Quieted(p proc.Process) { l.quieted[p.ID] = p }

// IsQuieted reports whether it was.
func (l *Ledger) IsQuieted(id proc.ID) bool {
	_, sent := l.quieted[id]
	return sent
}

// Resumed forgets all that were: they may be quieted anew.
func (l *Ledger) Resumed() { clear(l.quieted) }
