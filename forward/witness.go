package forward

import (
	"time"

	"drainit/internal/proc"
)

// evidenceTime is what the evidence may add to a stop before the worker is signalled.
const evidenceTime = 20 * time.Millisecond

// WantWitness is what is to be read of those that a first plan leaves to others, before it
// is carried out: what shows later whether they have received a signal since, and of shells
// with a trap whether that may have run. needed is false where there is nothing to be read.
func (l *Ledger) WantWitness(plan []Delivery, s *proc.Snapshot, now time.Time) (w proc.Want, needed bool) {
	if l.snapshots != 1 {
		return w, false
	}
	planned := make(map[proc.ID]bool)
	for _, d := range plan {
		planned[d.Process.ID] = true
		for _, p := range d.Members {
			planned[p.ID] = true
		}
	}
	for _, p := range s.Descendants(l.self) { // the nearest first
		if !planned[p.ID] {
			w.Evidence = append(w.Evidence, p)
		}
	}
	for pid, m := range l.living {
		if m.program == Shell && m.Handles(l.signalFor(m)) {
			w.Shells = append(w.Shells, pid)
		}
	}
	if w.Evidence == nil {
		w.Evidence = []*proc.Process{} // none but those of the shells
	}
	w.Signals, w.Until = stopSignals(l.deliver), now.Add(evidenceTime)
	return w, len(w.Evidence)+len(w.Shells) > 0
}

// Witness notes that evidence.
func (l *Ledger) Witness(s *proc.Snapshot) {
	for pid, m := range l.living {
		m.stack = max(m.stack, s.Stack(pid))
		if e := s.Evidence(pid); e != nil {
			m.evidence = e
		}
	}
}
