package forward

import (
	"cmp"
	"slices"

	"drainit/internal/proc"
)

// BlockedTrap is a shell that was signalled and can't run its trap before a child ends.
type BlockedTrap struct{ Shell, Child proc.Process }

// Waiting are processes that were not signalled, with the rule, if that has changed since the last plan.
type Waiting struct {
	Processes []*proc.Process // mostly one, or thousands
	Rule      string
	Undecided bool    // another process may have signalled them
	Call      Purpose // the call that signals those at the latest
	Advice    string  // what would have them signalled at once, "" for nothing
}

// IDs are those of the processes.
func (w Waiting) IDs() (ids []proc.ID) {
	for _, p := range w.Processes {
		ids = append(ids, p.ID)
	}
	return ids
}

// note notes why a process was not signalled.
func (s *step) note(m *record, v verdict) {
	rule := v.why.String()
	if n := len(s.Waiting) - 1; n >= 0 && s.Waiting[n].Rule == rule {
		s.Waiting[n].Processes = append(s.Waiting[n].Processes, &m.Process)
		return
	}
	w := Waiting{Processes: []*proc.Process{&m.Process}, Rule: rule, Undecided: v.fate == undecided || v.fate == passedOn, Call: FinalCall}
	if v.orphan {
		w.Call = LastCall
	}
	if w.Undecided {
		w.Advice = s.advice(m)
	}
	s.Waiting = append(s.Waiting, w)
}

// advice is what the user can change so that an undecided process is signalled at once. --forward group suits only
// a process that no other signals, which drainit can't know: else the group's signal is its second.
func (l *Ledger) advice(m *record) string {
	up, inGroup := cmp.Or(m.notified(), m.parent), m.PGID == m.topmost().PGID
	switch {
	case up != nil && slices.Contains([]string{"su", "runuser", "sudo"}, up.Exe):
		return "setpriv, gosu or USER in place of " + up.Exe + " would have it signalled at once"
	case up != nil && inGroup && l.alive(up):
		return "if " + up.String() + " passes nothing on, --forward group signals it at once"
	case inGroup:
		return "if no other process signals it, --forward group does at once"
	}
	return ""
}

// Watched returns the processes whose death is not reported by wait4, and can leave an orphan or let a reader
// of their pipe have its turn.
func (l *Ledger) Watched() (all []proc.ID) {
	writes := make(map[int]bool)
	for pid := range l.living {
		for _, writer := range l.shown.WritersTo(pid) {
			writes[writer] = true
		}
	}
	for _, m := range l.all() {
		if m.PPID != l.self && (writes[m.PID] || len(l.shown.Children(m.PID)) > 0) {
			all = append(all, m.ID)
		}
	}
	return all
}
