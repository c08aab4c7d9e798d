package forward

import "drainit/internal/proc"

// Unsignalled has processes that were not signalled, all for one reason (Rule). A process is in a later plan
// again only if its reason has changed, or it has become an orphan.
type Unsignalled struct {
	Processes []*proc.Process // mostly one, at times thousands
	Rule      string
	Undecided bool    // another process may have signalled them
	Call      Purpose // LastCall or FinalCall, which signals them at the latest
}

// note notes why a process was not signalled. Processes in a row with the same reason share one Unsignalled.
func (s *step) note(m *record, v verdict) {
	rule := v.why.String()
	if n := len(s.Unsignalled) - 1; n >= 0 && s.Unsignalled[n].Rule == rule {
		s.Unsignalled[n].Processes = append(s.Unsignalled[n].Processes, &m.Process)
		return
	}
	w := Unsignalled{Rule: rule, Undecided: v.undecided(), Call: FinalCall}
	w.Processes = []*proc.Process{&m.Process}
	if v.isChild {
		w.Call = LastCall
	}
	s.Unsignalled = append(s.Unsignalled, w)
}

// Watched returns the processes that drainit must watch since wait4(2) does not report their death. Such a
// death may leave an orphan, or end the input of a process that reads a pipe.
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
