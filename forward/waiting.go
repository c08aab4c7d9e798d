package forward

import (
	"cmp"
	"slices"

	"drainit/internal/proc"
)

// BlockedTrap is a shell that was signalled and can't run its trap before a child ends.
type BlockedTrap struct{ Shell, Child proc.Process }

// Waiting has processes that were not signalled for the same reason (Rule). A process is named again only if
// the reason has changed since the last plan, or it has become an orphan.
type Waiting struct {
	Processes []*proc.Process // mostly one, at times thousands
	Rule      string
	Undecided bool    // another process may have signalled them
	Call      Purpose // LastCall or FinalCall, which signals them at the latest
	Advice    string  // what the user can change so that they are signalled at once, "" for nothing
}

// note notes why a process was not signalled. Processes in a row with the same reason share one Waiting.
func (s *step) note(m *record, v verdict) {
	rule := v.why.String()
	if n := len(s.Waiting) - 1; n >= 0 && s.Waiting[n].Rule == rule {
		s.Waiting[n].Processes = append(s.Waiting[n].Processes, &m.Process)
		return
	}
	w := Waiting{Rule: rule, Undecided: v.fate == inDoubt || v.fate == overdue, Call: FinalCall}
	w.Processes = []*proc.Process{&m.Process}
	if v.orphan {
		w.Call = LastCall
	}
	if w.Undecided {
		w.Advice = s.advice(m)
	}
	s.Waiting = append(s.Waiting, w)
}

// advice returns what the user can change so that an undecided process is signalled at once, "" for nothing.
// --forward group suits only a process that no other process signals, because the group's signal would be its
// second. drainit can't know that, so the advice says "if".
func (h *History) advice(m *record) string {
	up := cmp.Or(m.nearestSignalled(), m.parent)
	inGroup := m.PGID == m.topmost().PGID && h.groupReachesOnce(up)
	switch {
	case up != nil && slices.Contains([]string{"su", "runuser", "sudo"}, up.Exe):
		return "setpriv, gosu or USER in place of " + up.Exe + " would have it signalled at once"
	case up != nil && inGroup && h.alive(up):
		return "if " + up.String() + " passes nothing on, --forward group signals it at once"
	case inGroup:
		return "if no other process signals it, --forward group does at once"
	}
	return ""
}

// groupReachesOnce reports whether --forward group would signal no process a second time when the stop
// begins. So no process of the worker's group that handles the signal has another above it that does. The
// process but does not count as one above, nil for none.
func (h *History) groupReachesOnce(but *record) bool {
	for _, p := range h.Start.Descendants(h.self) {
		above := p.PPID
		for p.PGID == h.pgid && p.Handles(h.deliver) && above != h.self {
			up, found := h.Start.Process(above)
			if !found || up.Handles(h.deliver) && (but == nil || up.ID != but.ID) {
				return false
			}
			above = up.PPID
		}
	}
	return true
}

// Watched returns the processes whose death wait4(2) does not report to drainit, though it can leave an
// orphan or let a reader of their pipe have its turn.
func (h *History) Watched() (all []proc.ID) {
	writes := make(map[int]bool)
	for pid := range h.living {
		for _, writer := range h.shown.WritersTo(pid) {
			writes[writer] = true
		}
	}
	for _, m := range h.all {
		if h.living[m.PID] == m && m.PPID != h.self && (writes[m.PID] || len(h.shown.Children(m.PID)) > 0) {
			all = append(all, m.ID)
		}
	}
	return all
}
