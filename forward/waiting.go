package forward

import "drainit/internal/proc"

// Waiting is a process that was not signalled, and the rule by which, where that is not the one
// of the plan before.
type Waiting struct {
	Process   proc.Process
	Rule      string
	Undecided bool         // another may have signalled it: the last call does, if nothing shows before
	Parent    proc.Process // that may have signalled it, zero where none was seen
	Waits     bool         // the parent lives: a shell that may wait for it, and has signalled none then
}

// Waiting returns those of the last plan, each once.
func (l *Ledger) Waiting() []Waiting {
	all := l.waiting
	l.waiting = nil
	return all
}

// note notes why a process was not signalled, when that has changed.
func (l *Ledger) note(m *record, w Waiting) {
	if !m.fate.isLeft() && m.waitsBy != w.Rule {
		m.waitsBy = w.Rule
		l.waiting = append(l.waiting, w)
	}
}

// noteUndecided notes those that a shell may wait for, or may have signalled, once it has had
// its time for that.
func (l *Ledger) noteUndecided() {
	for _, m := range l.living {
		if m.program != Shell || m.sent == nil || l.now < m.sent.tick+hadItsTime || m.waitsFor() != proc.MayWait {
			continue
		}
		for _, p := range l.foreground(m) {
			if child := l.living[p.PID]; child != nil && !l.leaves(child) && l.actsUpon(child) {
				l.note(child, Waiting{*p, "its shell may wait for it, or has signalled it", true, m.Process, true})
			}
		}
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
	for _, p := range l.shown.Descendants(l.self) {
		if p.PPID != l.self && l.living[p.PID] != nil && (writes[p.PID] || len(l.shown.Children(p.PID)) > 0) {
			all = append(all, p.ID)
		}
	}
	return all
}
