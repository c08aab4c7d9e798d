package forward

import (
	"slices"
	"testing"
)

// These are the behaviours of families of up to four, of those that a late snapshot shows,
// and all.
var (
	basic  = []behaviour{noHandler, finishes, passesOn, passesLeaves, trapShell}
	usual  = append(basic[:len(basic):len(basic)], leavesAtOnce, ignoring, blocking, groupRelay)
	every  = append(usual[:len(usual):len(usual)], nestedInit, pipeReader, handlerShell, childRelay, passingShell, dashShell, waitingShell, passesDies, groupDies)
	traps  = []behaviour{noHandler, finishes, passesDies, groupDies, trapShell, dashShell, waitingShell, passingShell, handlerShell}
	change = []behaviour{noHandler, finishes, passesOn, ignoring, trapShell, waitingShell, guardsItself, blocksItself, guardingShell, execsInTrap, takesItLate, asksToStop, subreaper, diesLate, trappingShell}
	pipes  = []behaviour{noHandler, finishes, passesOn, ignoring, drainingReader}
	groups = []behaviour{noHandler, finishes, dashShell, ignoring, groupDies}
)

// walks are the families that are walked, in the order of the columns of walked.
var walks = []struct {
	name  string
	most  int
	these []behaviour
	kind
}{
	{"idle", 3, every, kind{idle: true}},
	{"busy", 3, every, kind{}},
	{"idle, seen late", 3, usual, kind{idle: true, late: true}},
	{"busy, seen late", 3, usual, kind{late: true}},
	{"four, idle", 4, basic, kind{idle: true}},
	{"four, busy", 4, basic, kind{}},
	{"unmarked, idle", 3, traps, kind{idle: true, unmarked: true}},
	{"unmarked, busy", 3, traps, kind{unmarked: true}},
	{"changing, idle", 3, change, kind{idle: true}},
	{"changing, busy", 3, change, kind{}},
	{"groups, idle", 4, groups, kind{idle: true}},
	{"groups, busy", 4, groups, kind{}},
	{"readers, idle", 4, pipes, kind{idle: true}},
	{"readers, busy", 4, pipes, kind{}},
	{"daemons, idle", 4, basic, kind{idle: true, daemon: true}},
	{"daemons, busy", 4, basic, kind{daemon: true}},
}

// Every family is stopped in every order of deaths. A snapshot that is late may miss
// some, as it does where the dead was not drainit's child.
func TestSmallFamiliesWalkedWhole(t *testing.T) {
	for column, tt := range walks {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			walkAll(t, tt.most, tt.these, tt.kind).compare(t, column)
		})
	}
}

// walked is what the walks find, by its cause: how many processes of one family each act upon the
// signal and wait for the last call or the final one, or are signalled both by drainit and by another,
// in one order of deaths at least. Most are as they should be: what is below one that handles the stop
// is that one's business. What busy ones received can't be known. A change of the rules shows here.
var walked = map[string][16]int{
	"final call: the one above it does not act upon what another sent it":                          {111, 111, 14, 14, 0, 0, 0, 0, 66, 66, 0, 0, 72, 72, 0, 0},
	"final call: the relay above it waits for others":                                              {193, 193, 0, 0, 0, 0, 0, 0, 11, 11, 0, 0, 0, 0, 0, 0},
	"final call: the shell above it waits for another":                                             {180, 180, 18, 18, 184, 184, 0, 0, 33, 33, 0, 0, 0, 0, 36, 36},
	"final call: the shell above it, which another signalled, waits for it":                        {148, 148, 7, 7, 144, 144, 7, 7, 66, 66, 0, 0, 0, 0, 36, 36},
	"last call: its parent died of it, which another had signalled":                                {0, 183, 0, 13, 0, 312, 0, 14, 0, 77, 0, 0, 0, 74, 0, 72},
	"last call: the one above it does not act upon what another sent it":                           {111, 186, 14, 26, 0, 0, 0, 0, 66, 77, 0, 0, 72, 70, 0, 0},
	"last call: the one above it left in order":                                                    {0, 2222, 0, 512, 0, 2616, 0, 315, 710, 1892, 0, 1506, 0, 788, 0, 1256},
	"last call: the one above it works":                                                            {1010, 998, 265, 259, 2504, 2468, 308, 308, 792, 792, 1722, 1716, 910, 908, 1244, 1220},
	"last call: the relay above it waits for others":                                               {193, 193, 0, 0, 0, 0, 0, 0, 22, 22, 0, 0, 0, 0, 0, 0},
	"last call: the shell above it waits for another":                                              {288, 324, 24, 30, 352, 356, 56, 203, 44, 44, 363, 354, 0, 0, 72, 72},
	"last call: the shell above it waits for it":                                                   {0, 165, 0, 29, 0, 0, 0, 147, 0, 0, 0, 0, 0, 0, 0, 0},
	"last call: the shell above it, which another signalled, waits for it":                         {148, 248, 7, 13, 144, 280, 28, 56, 66, 77, 0, 0, 0, 0, 36, 72},
	"signalled, though it was asked to stop by other means":                                        {0, 0, 0, 0, 0, 0, 0, 0, 17, 15, 0, 0, 0, 0, 0, 0},
	"twice: by a relay, and by drainit's final call":                                               {28, 28, 7, 7, 0, 0, 0, 0, 7, 7, 0, 0, 0, 0, 0, 0},
	"twice: by a relay, and by drainit's last call":                                                {3, 3, 3, 3, 0, 0, 0, 0, 5, 5, 0, 0, 0, 0, 0, 0},
	"twice: by drainit, and then by its parent's last call":                                        {0, 8, 0, 0, 0, 0, 6, 46, 22, 23, 0, 0, 0, 0, 0, 0},
	"twice: by drainit, and then by its parent, which a call has signalled":                        {0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0},
	"twice: by drainit, and then by one that signals its group":                                    {260, 186, 0, 0, 0, 0, 82, 53, 146, 109, 1067, 749, 0, 0, 0, 0},
	"twice: by drainit, and then by one that signals its group's final call":                       {14, 14, 0, 0, 0, 0, 1, 1, 6, 6, 0, 0, 0, 0, 0, 0},
	"twice: by drainit, and then by one that signals its group's last call":                        {35, 74, 0, 0, 0, 0, 28, 79, 63, 69, 373, 383, 0, 0, 0, 0},
	"twice: by drainit, and then by one that signals its group's last call, of one that blocks":    {3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	"twice: by drainit, and then by one that signals its group's last call, of one that dies":      {1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 50, 50, 0, 0, 0, 0},
	"twice: by drainit, and then by one that signals its group's last call, of one that dies late": {0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0},
	"twice: by drainit, and then by one that signals its group, of one that blocks":                {9, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	"twice: by drainit, and then by one that signals its group, of one that dies":                  {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 30, 15, 0, 0, 0, 0},
	"twice: by drainit, and then by one that signals its group, of one that dies late":             {0, 0, 0, 0, 0, 0, 0, 0, 9, 6, 0, 0, 0, 0, 0, 0},
	"twice: by drainit, and then by one that signals its group, of one that ignores":               {3, 3, 0, 0, 0, 0, 0, 0, 6, 6, 108, 111, 0, 0, 0, 0},
	"twice: by drainit, and then by one that signals its group, of one that init":                  {3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	"twice: by its parent, and by drainit's final call":                                            {228, 228, 13, 13, 160, 184, 8, 8, 120, 120, 0, 0, 32, 34, 50, 50},
	"twice: by its parent, and by drainit's last call":                                             {383, 522, 52, 62, 697, 811, 187, 202, 177, 205, 880, 886, 0, 0, 487, 586},
	"twice: by its parent, and by drainit's last call, of one that ignores":                        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 6, 0, 0, 0, 0},
	"twice: by one without children that signals its group, and by drainit":                        {0, 0, 0, 0, 0, 0, 0, 0, 6, 6, 60, 39, 0, 0, 0, 0},
	"final call: a daemon, which waits for the work":                                               {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 8},
	"last call: a daemon, which waits for the work":                                                {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2176, 3064},
	"final call: its writer lives":                                                                 {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 117, 117, 0, 0},
	"final call: the writer of the reader above it lives":                                          {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 0, 0},
	"last call: its writer lives":                                                                  {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 260, 261, 0, 0},
	"last call: the writer of the reader above it lives":                                           {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 18, 18, 0, 0},
}

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

// handlerAbove reports whether one lives above a member that is handling the stop, or another has its turn first: the
// writer of what it reads, the work before a daemon; or it, or one above it, was asked to stop by other means.
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
		if m.signalled() && m.handles() && !waits || w.reads(up) {
			return true
		}
		below = up
	}
	return false
}

// waitsForWork reports whether a member came from a daemon, and the worker lives, or what came from it; or one of them
// is a shell with a trap, which has seen to its daemons.
func (w *walk) waitsForWork(i int) bool {
	for j := range w.family {
		m := &w.family[j]
		works := !m.dead || m.drainit > 0 && slices.Contains([]string{"bash", "dash", "mksh"}, w.process(j, w.kind).Exe) && m.handles()
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
			w.cases[finding{i, "signalled, though it was asked to stop by other means"}] = true
		}
		switch {
		case m.drainit > 1:
			w.t.Fatalf("%v: drainit signalled member %d %d times (deaths: %v)", w.family, i, m.drainit, w.deaths)
		case w.cut > 0:
			w.t.Fatalf("%v: drainit signalled member %d, which reads from one that lives (deaths: %v)", w.family, w.cut, w.deaths)
		case !m.dead && !m.signalled() && m.acts():
			w.t.Fatalf("%v: member %d was signalled by none (idle: %v, deaths: %v)", w.family, i, w.idle, w.deaths)
		case i > 0 && m.drainit > 0 && len(m.others) > 0: // below the worker
			if m.again && m.call == Orphans && !w.byLeaf(m) {
				w.t.Fatalf("%v: drainit signalled member %d, as another did: %s (deaths: %v)", w.family, i, m.rule, w.deaths)
			}
			if by := &w.family[m.others[0]]; m.later && m.call == Orphans && !w.byGroup(m) && by.call <= Orphans {
				w.t.Fatalf("%v: drainit signalled member %d before its parent did: %s (deaths: %v)", w.family, i, m.rule, w.deaths)
			}
			w.cases[finding{i, w.twice(m)}] = true
		}
	}
}

// byLeaf reports whether what another sent a member began with one without children, which drainit does not
// expect to signal its group.
func (w *walk) byLeaf(m *member) bool {
	for i := range w.family {
		if by := &w.family[i]; slices.Contains(m.others, i) && by.signalsGroup() && !slices.ContainsFunc(w.family, func(child member) bool { return child.started == i }) {
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
