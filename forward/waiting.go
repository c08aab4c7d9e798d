package forward

import (
	"cmp"
	"slices"

	"drainit/internal/proc"
)

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

// note notes why a process was not signalled, when that has changed.
func (l *Ledger) note(m *record, rule string, undecided bool) {
	if m.fate.isLeft() || m.waitsBy == rule {
		return
	}
	m.waitsBy = rule
	if n := len(l.plan.Waiting) - 1; n >= 0 && l.plan.Waiting[n].Rule == rule {
		l.plan.Waiting[n].Processes = append(l.plan.Waiting[n].Processes, &m.Process)
		return
	}
	w := Waiting{Processes: []*proc.Process{&m.Process}, Rule: rule, Undecided: undecided, Call: FinalCall}
	if m.PPID == l.self {
		w.Call = LastCall
	}
	if undecided {
		w.Advice = l.advice(m)
	}
	l.plan.Waiting = append(l.plan.Waiting, w)
}

// advice is what would have a process signalled at once of which that is uncertain. The one above it may pass
// the signal on, which drainit can't know: then the group's signal would be the second.
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

// noteLeft notes why the processes that are not children of drainit were not signalled. There may be thousands, of
// which few change from one snapshot to the next.
func (l *Ledger) noteLeft() {
	for _, m := range l.shownNow() {
		if m.parent != nil && m.PPID != l.self && m.sent == nil && !l.planned[m.ID] {
			if to := l.leftTo(m); to != m.leftTo {
				m.leftTo = to
				l.note(m, to.words(), to.how == mayHavePassedOn)
			}
		}
	}
}

// leftTo is why a process below another, or with another that writes to it, is not signalled: mostly it is that
// one's business.
type leftTo struct {
	*record // that one, nil for a writer of no name
	how     uint8
}

const (
	itsBusiness uint8 = iota
	itsReader
	wouldDie
	doesNotAct
	mayHavePassedOn // it has had its time, too
)

func (l *Ledger) leftTo(m *record) (to leftTo) {
	const itsTime = 4 * aSecond // the first line of progress comes after five
	up := cmp.Or(m.notified(), m.parent)
	switch {
	case l.shown.HasWriters(m.PID):
		to.how = itsReader
		for _, pid := range l.shown.WritersTo(m.PID) {
			if w := l.living[pid]; w != nil && w != m {
				to.record = w
			}
		}
		return to
	case m.On(l.signalFor(m)) == proc.Dies:
		return leftTo{up, wouldDie}
	case !l.actsUpon(m):
		return leftTo{up, doesNotAct}
	case l.alive(up) && up.sent != nil && l.now >= up.sent.tick+itsTime:
		return leftTo{up, mayHavePassedOn}
	}
	return leftTo{up, itsBusiness}
}

func (to leftTo) words() string {
	switch to.how {
	case itsReader:
		if to.record == nil {
			return "waits until its writer has ended"
		}
		return "waits until its writer " + to.String() + " has ended"
	case wouldDie:
		return "not while " + to.String() + " lives: it would only die of the signal"
	case doesNotAct:
		return "not while " + to.String() + " lives: it does not act upon the signal"
	case mayHavePassedOn:
		return to.String() + " above handles the stop signal and may have passed it on"
	}
	return "left to " + to.String()
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
	for _, m := range l.shownNow() {
		if m.PPID != l.self && (writes[m.PID] || len(l.shown.Children(m.PID)) > 0) {
			all = append(all, m.ID)
		}
	}
	return all
}
