package forward

// finding is something that happened to a member.
type finding struct {
	member int
	what   string
}

// note notes which members live, act upon the signal and were not sent it, and why.
func (w *walk) note(when string) {
	for i := range w.family {
		m := &w.family[i]
		if m.dead || m.signalled() || !m.acts() {
			continue
		}
		w.cases[finding{i, when + w.whyNot(i)}] = true
		if w.step == Orphans && w.idle && !w.late && !w.handlerAbove(i) {
			w.t.Fatalf("%v: member %d was not signalled before the last call (deaths: %v)", w.family, i, w.deaths)
		}
	}
}

// handlerAbove reports whether one lives above a member that is handling the stop.
func (w *walk) handlerAbove(i int) bool {
	below := i
	for up := w.family[i].parent; up != drainitSends; up = w.family[up].parent {
		m := &w.family[up]
		waits := m.isShell() && w.foreground(up) == below
		if m.signalled() && m.handles() && !waits || w.reads(up) {
			return true
		}
		below = up
	}
	return false
}

// whyNot is why no process has signalled a member.
func (w *walk) whyNot(i int) string {
	if w.reads(i) {
		return "its writer lives"
	}
	below := i
	for up := w.family[i].parent; up != drainitSends; up = w.family[up].parent {
		if why := w.above(up, below); why != "" {
			return why
		}
		below = up
	}
	up := &w.family[w.family[i].started]
	for ; !up.signalled() && up.started != drainitSends; up = &w.family[up.started] {
	}
	switch {
	case !up.dead:
		return "none above it acts upon it"
	case up.does == noHandler, up.does == handlerShell, up.does == pipeReader:
		return "its parent died of it, which another had signalled"
	}
	return "the one above it left in order"
}

// above is why one that lives above a member keeps drainit from signalling it, "" if it
// does not.
func (w *walk) above(up, below int) string {
	m := &w.family[up]
	switch {
	case !m.signalled():
		if w.reads(up) {
			return "the writer of the reader above it lives"
		}
		return ""
	case m.isShell() && w.foreground(up) != below:
		return "the shell above it waits for another"
	case m.isShell() && m.drainit > 0:
		return "the shell above it waits for it"
	case m.isShell():
		return "the shell above it, which another signalled, waits for it"
	case !m.handles() && m.drainit == 0:
		return "the one above it does not act upon what another sent it"
	}
	return map[behaviour]string{
		finishes:   "the one above it works",
		passesOn:   "the one above it waits for others",
		ignoring:   "the one above it ignores it",
		blocking:   "the one above it blocks it",
		nestedInit: "the one above it is a namespace's first",
		groupRelay: "the relay above it waits for others",
		childRelay: "the relay above it waits for others",
	}[m.does]
}

// check checks what must never be, and notes what should not be.
func (w *walk) check() {
	for i := range w.family {
		m := &w.family[i]
		switch {
		case m.drainit > 1:
			w.t.Fatalf("%v: drainit signalled member %d %d times (deaths: %v)", w.family, i, m.drainit, w.deaths)
		case w.cut > 0:
			w.t.Fatalf("%v: drainit signalled member %d, which reads from one that lives (deaths: %v)", w.family, w.cut, w.deaths)
		case !m.dead && !m.signalled() && m.acts():
			w.t.Fatalf("%v: member %d was signalled by none (idle: %v, deaths: %v)", w.family, i, w.idle, w.deaths)
		case i > 0 && m.drainit > 0 && len(m.others) > 0: // below the worker
			if m.again && m.call == Orphans {
				w.t.Fatalf("%v: drainit signalled member %d, as another did (deaths: %v)", w.family, i, w.deaths)
			}
			if m.later && m.call == Orphans && w.family[m.others[0]].does != groupDies {
				w.t.Fatalf("%v: drainit signalled member %d before its parent did (deaths: %v)", w.family, i, w.deaths)
			}
			w.cases[finding{i, w.twice(m)}] = true
		}
	}
}

// twice is how a member was signalled both by drainit and by another.
func (w *walk) twice(m *member) string {
	what := "twice: by its parent, and by drainit"
	switch by := w.family[m.others[0]].does; {
	case m.later && by == groupDies:
		what = "twice: by drainit, and then by one that signals its group"
	case m.later:
		what = "twice: by drainit, and then by its parent"
	case by == groupRelay:
		what = "twice: by a relay, and by drainit"
	}
	if m.call != Orphans {
		what += "'s " + calls[m.call]
	}
	if !m.handles() {
		what += ", of one that " + behaves[m.does]
	}
	return what
}
