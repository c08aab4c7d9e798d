package forward

import "drainit/internal/proc"

// Waiting are processes that were not signalled, and the rule by which, where that is not the one of
// the plan before.
type Waiting struct {
	Processes []proc.Process // mostly one
	Rule      string
	Undecided bool         // another may have signalled them
	By        proc.Process // that one, zero where none was seen
	Gone      bool         // it has ended
}

// Waiting returns those of the last plan, each once.
func (l *Ledger) Waiting() []Waiting {
	all := l.waiting
	l.waiting = nil
	return all
}

// note notes why a process was not signalled, or none below it, when that has changed.
func (l *Ledger) note(m *record, w Waiting) {
	if !m.fate.isLeft() && m.waitsBy != w.Rule {
		m.waitsBy = w.Rule
		l.waiting = append(l.waiting, w)
	}
}

// noteUnsent notes the handlers of the signal that were left to a living process above them, once that
// has had its time.
func (l *Ledger) noteUnsent() {
	const itsTime = 4 * aSecond // the first line of progress comes after five
	var above []*record
	below := make(map[*record][]proc.Process)
	for _, m := range l.shownNow() {
		up := m.notified()
		if l.alive(up) && l.now >= up.sent.tick+itsTime && !l.leaves(m) && l.actsUpon(m) {
			above, below[up] = append(above, up), append(below[up], m.Process)
		}
	}
	for _, up := range above {
		l.note(up, Waiting{Processes: below[up], Rule: "a process above them may have signalled them", Undecided: true, By: up.Process})
	}
}

// Watched are the processes whose death can leave an orphan, or let a reader of their pipe have its
// turn, and is not reported by wait4.
func (l *Ledger) Watched() (all []proc.ID) {
	writes := make(map[int]bool)
	for pid := range l.living {
		for _, writer := range l.shown.WritersTo(pid) {
			writes[writer] = true
		}
	}
	for _, m := range l.shownNow() {
		if m.PPID != l.self && (writes[m.PID] || len(l.shown.Children(m.PID)) > 0) {
			all = append(all, m.ID)
		}
	}
	return all
}
