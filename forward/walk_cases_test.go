package forward

import (
	"slices"
	"testing"
)

// These are the behaviours of families of up to four, of those that a late snapshot shows, and all.
var (
	basic = []behaviour{noHandler, finishes, passesOn, passesLeaves, trapShell}
	usual = append(basic[:len(basic):len(basic)], leavesAtOnce, ignoring, blocking, groupRelay)
	every = append(usual[:len(usual):len(usual)], nestedInit, pipeReader, handlerShell,
		childRelay, passingShell, dashShell, waitingShell, passesDies, groupDies)
	traps = []behaviour{noHandler, finishes, passesDies, groupDies, trapShell, dashShell, waitingShell,
		passingShell, handlerShell}
	change = []behaviour{noHandler, finishes, passesOn, ignoring, trapShell, waitingShell, guardsItself,
		blocksItself, guardingShell, execsInTrap, takesItLate, asksToStop, subreaper, diesLate, trappingShell}
	pipes  = []behaviour{noHandler, finishes, passesOn, ignoring, drainingReader}
	groups = []behaviour{noHandler, finishes, dashShell, ignoring, groupDies}
)

// walked are families that are walked: all of so many members that behave in these ways.
type walked struct {
	name  string
	most  int
	these []behaviour
	kind
}

// walks are those that are idle, and the same busy.
var walks = inBothRhythms([]walked{
	{"", 3, every, kind{}},
	{"seen late, ", 3, usual, kind{late: true}},
	{"four, ", 4, basic, kind{}},
	{"unmarked, ", 3, traps, kind{unmarked: true}},
	{"changing, ", 3, change, kind{}},
	{"groups, ", 4, groups, kind{}},
	{"readers, ", 4, pipes, kind{}},
	{"daemons, ", 4, basic, kind{daemon: true}},
})

func inBothRhythms(all []walked) (both []walked) {
	for _, w := range all {
		busy := w
		w.idle = true
		w.name, busy.name = w.name+"idle", w.name+"busy"
		both = append(both, w, busy)
	}
	return both
}

// Every family is stopped in every order of deaths. A snapshot that is late may miss some, as it does where
// the dead was not drainit's child. What is found stands in the page of the walks: most is as it should be,
// since what is below one that handles the stop is that one's business, and what busy ones received can't be
// known. A change of the rules shows there.
func TestSmallFamiliesWalkedWhole(t *testing.T) {
	page, found := readPage(t), make([]*result, len(walks))
	t.Cleanup(func() { // when all have been walked; one that fails has found nothing
		if *update {
			writePage(t, page, found)
		}
	})
	for i, tt := range walks {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if found[i] = walkAll(t, tt.most, tt.these, tt.kind); !*update {
				found[i].compare(t, page[tt.name])
			}
		})
	}
}

// finding is something that happened to a member.
type finding struct {
	member int
	what   string
}

// fails ends the test by what is wrong with the family.
func (w *walk) fails(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%v: "+format+" (idle: %v, deaths: %v)",
		slices.Concat([]any{w.family}, args, []any{w.idle, w.deaths})...)
}

// note notes which members live, act upon the signal and were not sent it, and why.
func (w *walk) note(when string) {
	for i := range w.family {
		m := &w.family[i]
		if m.dead || m.signalled() || !m.acts() || m.does == groupRelay { // which is left alone
			continue
		}
		w.cases[finding{i, when + w.whyNot(i)}] = true
		if w.step == Orphans && w.idle && !w.late && !w.handlerAbove(i) {
			w.fails("member %d was not signalled before the last call", i)
		}
	}
}

// handlerAbove reports whether one lives above a member that is handling the stop, or another has its turn
// first: the writer of what it reads, the work before a daemon; or it, or one above it, was asked to stop by
// other means.
func (w *walk) handlerAbove(i int) bool {
	for up := i; up != drainitSends; up = w.family[up].started {
		if w.family[up].asked {
			return true
		}
	}
	if w.waitsForWork(i) || w.reads(i) {
		return true
	}
	below := i
	for up := w.family[i].parent; up != drainitSends; up = w.family[up].parent {
		m := &w.family[up]
		waits := m.isShell() && w.foreground(up) == below
		if m.does == blocking && len(w.started(up, false)) > 1 { // another child's end may wake it
			return true
		}
		if m.signalled() && m.handles() && !waits || w.reads(up) {
			return true
		}
		below = up
	}
	return false
}

// works reports whether the worker lives, or what came from it.
func (w *walk) works() bool {
	for i := range w.family {
		if w.top(i) == 0 && !w.family[i].dead {
			return true
		}
	}
	return false
}

// waitsForWork reports whether a member came from a daemon, and the worker lives, or what came from it; or
// one of them is a shell with a trap, which has seen to its daemons.
func (w *walk) waitsForWork(i int) bool {
	for j := range w.family {
		m := &w.family[j]
		works := !m.dead || m.drainit > 0 && m.handles() &&
			slices.Contains([]string{"bash", "dash", "mksh"}, w.process(j, w.kind).Exe)
		if w.top(i) != 0 && w.top(j) == 0 && works {
			return true
		}
	}
	return false
}

// whyNot is why no process has signalled a member.
func (w *walk) whyNot(i int) string {
	if w.reads(i) {
		return "its writer lives"
	}
	if w.waitsForWork(i) {
		return "a daemon, which waits for the work"
	}
	if daemon := w.family[w.top(i)]; w.top(i) > 0 && !daemon.dead && !daemon.signalled() {
		return "a daemon, which the worker may have stopped"
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
		subreaper:  "the relay above it waits for others",
		childRelay: "the relay above it waits for others",
	}[m.does]
}

// check checks what must never be, and notes what should not be.
func (w *walk) check() {
	for i := range w.family {
		m := &w.family[i]
		if m.asked && m.drainit > 0 && m.call == Orphans {
			w.cases[finding{i, "twice: by one that asked it to stop by other means, and by drainit"}] = true
		}
		switch {
		case m.drainit > 1:
			w.fails("drainit signalled member %d %d times", i, m.drainit)
		case w.cut > 0:
			w.fails("drainit signalled member %d, while its writer lived, or work that may need it", w.cut)
		case !m.dead && !m.signalled() && m.acts() && m.does != groupRelay:
			w.fails("member %d was signalled by none", i)
		case i > 0 && m.drainit > 0 && len(m.others) > 0: // below the worker
			if m.again && m.call == Orphans && !w.byLeaf(m) {
				w.fails("drainit signalled member %d, as another did: %s", i, m.rule)
			}
			by := &w.family[m.others[0]]
			if m.later && m.call == Orphans && !w.byGroup(m) && by.call <= Orphans {
				w.fails("drainit signalled member %d before its parent did: %s", i, m.rule)
			}
			w.cases[finding{i, w.twice(m)}] = true
		}
	}
}

// byLeaf reports whether what another sent a member began with one without children, which drainit does not
// expect to signal its group.
func (w *walk) byLeaf(m *member) bool {
	for i := range w.family {
		isChild := func(child member) bool { return child.started == i }
		if by := &w.family[i]; slices.Contains(m.others, i) && by.signalsGroup() &&
			!slices.ContainsFunc(w.family, isChild) {
			return true
		}
	}
	return false
}

// byGroup reports whether what another sent a member began with one that signals its group.
func (w *walk) byGroup(m *member) bool {
	for range w.family { // at most
		if m = &w.family[m.others[0]]; m.signalsGroup() || len(m.others) == 0 {
			break
		}
	}
	return m.signalsGroup()
}

// twice is how a member was signalled both by drainit and by another.
func (w *walk) twice(m *member) string {
	what := "twice: by its parent, and by drainit"
	switch by := &w.family[m.others[0]]; {
	case m.again && m.call == Orphans:
		return "twice: by one without children that signals its group, and by drainit"
	case m.later && w.byGroup(m):
		what = "twice: by drainit, and then by one that signals its group"
	case m.later && m.call == Orphans:
		return "twice: by drainit, and then by its parent, which a call has signalled"
	case m.later:
		what = "twice: by drainit, and then by its parent"
	case by.does == groupRelay || by.does == subreaper:
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
