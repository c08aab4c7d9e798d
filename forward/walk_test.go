package forward

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// walk is one stop of a family, in which the deaths come in an order that was chosen.
type walk struct {
	family
	l       *Ledger
	worker  Worker
	tick    uint64
	choices []int // what happens next, by the number of the option
	options []int // how many there were, each time
	late    bool  // a snapshot may come only behind the next death
	called  bool  // the last call has been made
	deaths  []int
	cases   map[finding]bool
}

// finding is something that happened to a member.
type finding struct {
	member int
	what   string
}

// plan takes a snapshot and does what follows from it.
func (w *walk) plan(purpose Purpose, after uint64) {
	w.tick += after
	r := Request{Purpose: purpose, Signal: unix.SIGTERM, Worker: w.worker, Tick: w.tick}
	for _, d := range w.l.Plan(r, w.snapshot()) {
		w.l.Sent(d, w.tick)
		i := d.Process.PID - firstPID
		w.family[i].byCall = w.called
		w.signal(i, drainitSends)
	}
	if p, ok := w.l.Successor(); ok {
		w.worker = Worker{PID: p.PID}
	}
}

// play stops the family. Behind each death is a snapshot. When none can die, there is one
// more, and then the last call; it also comes while only those live that take their time.
func (w *walk) play() {
	w.plan(Stop, 0)
	for {
		these, slow := w.mayDie()
		switch {
		case len(these) == 0 && w.called:
			return
		case len(these) == 0:
			w.plan(Orphans, 200)
			if these, _ = w.mayDie(); len(these) == 0 {
				w.lastCall()
			}
		case slow && !w.called && w.choose(2) == 1:
			w.lastCall()
		default:
			w.die(these[w.choose(len(these))])
		}
	}
}

// choose returns one of so many options, each of them in another walk.
func (w *walk) choose(options int) int {
	n := len(w.options)
	w.options = append(w.options, options)
	if n == len(w.choices) {
		w.choices = append(w.choices, 0)
	}
	return w.choices[n]
}

func (w *walk) die(i int) {
	child := w.family[i].parent == drainitSends
	w.family.die(i)
	w.deaths = append(w.deaths, i)
	if child {
		w.l.Exited(firstPID+i, w.family[i].diedOf)
	}
	w.worker.Gone = w.worker.Gone || w.worker.PID == firstPID+i
	if these, _ := w.mayDie(); w.late && len(these) > 0 && w.choose(2) == 1 {
		return
	}
	purpose := Orphans
	if w.called {
		purpose = LastCall
	}
	w.plan(purpose, 10)
}

func (w *walk) lastCall() {
	w.note("not before the last call: ")
	w.called = true
	w.plan(LastCall, 200)
}

// note notes which members live and were not signalled, and why.
func (w *walk) note(when string) {
	for i := range w.family {
		m := &w.family[i]
		if m.dead || m.signalled() {
			continue
		}
		what := "; it handles it"
		if !m.handles() {
			what = "; it does not handle it"
		}
		w.cases[finding{i, when + w.whyNot(i) + what}] = true
	}
}

// whyNot is why no process has signalled a member.
func (w *walk) whyNot(i int) string {
	up := &w.family[w.family[i].started]
	if !up.signalled() {
		return w.whyNot(w.family[i].started)
	}
	for a := up; a.dead && a.started != drainitSends; {
		if a = &w.family[a.started]; !a.dead && a.signalled() {
			up = a
		}
	}
	switch {
	case up.dead && up.does == noHandler:
		return "its parent died of it unseen"
	case up.dead:
		return "its parent left in order"
	}
	return map[behaviour]string{
		finishes:   "the one above it works",
		passesOn:   "the one above it waits for others",
		ignoring:   "the one above it ignores it",
		blocking:   "the one above it blocks it",
		groupRelay: "the relay above it signalled another group",
		trapShell:  "the trap above it waits for the foreground",
	}[up.does]
}

// check checks what must never be, and notes what should not be.
func (w *walk) check(t *testing.T) {
	for i := range w.family {
		m := &w.family[i]
		switch {
		case m.drainit > 1:
			t.Fatalf("%v: drainit signalled member %d %d times (deaths: %v)", w.family, i, m.drainit, w.deaths)
		case m.parent == drainitSends && !m.dead && !m.signalled():
			t.Fatalf("%v: member %d is drainit's child and was not signalled (deaths: %v)", w.family, i, w.deaths)
		case m.drainit > 0 && len(m.others) > 0:
			w.cases[finding{i, w.twice(m)}] = true
		}
	}
	w.note("never: ")
}

// twice is how a member was signalled both by drainit and by another.
func (w *walk) twice(m *member) string {
	what := "twice: by its parent, and by drainit"
	if w.family[m.others[0]].does == groupRelay {
		what = "twice: by a relay, and by drainit"
	}
	if m.byCall {
		what += "'s last call"
	}
	switch {
	case m.dying:
		return what + "; it was dying of it"
	case m.handles():
		return what + "; it handles it"
	}
	return what + "; it " + behaves[m.does] + " it"
}

// result is what the walk of many families has found.
type result struct {
	families, orders, states int
	cases                    map[string]int
	such                     map[string]string // a family for each
}

// every plays a family in every order of deaths.
func (r *result) every(t *testing.T, parents []int, does []behaviour, late bool) {
	cases := make(map[finding]bool)
	for choices := []int(nil); ; {
		w := &walk{family: newFamily(parents, does), l: NewLedger(drainitPID), worker: Worker{PID: firstPID}, tick: 1000,
			choices: choices, late: late, cases: cases}
		w.play()
		w.check(t)
		r.orders++
		r.states += len(w.options) - max(len(choices)-1, 0) // the first of them are those of the walk before
		if choices = w.following(); choices == nil {
			break
		}
	}
	r.families++
	for c := range cases {
		if r.cases[c.what]++; r.such[c.what] == "" {
			r.such[c.what] = fmt.Sprintf("%d of %v", c.member, newFamily(parents, does))
		}
	}
}

// following are the choices of the next walk, nil behind the last.
func (w *walk) following() []int {
	for n := len(w.choices) - 1; n >= 0; n-- {
		if w.choices[n]+1 < w.options[n] {
			w.choices[n]++
			return w.choices[:n+1]
		}
	}
	return nil
}

// walkAll walks all families of up to so many members.
func walkAll(t *testing.T, most int, late bool) *result {
	r := &result{cases: make(map[string]int), such: make(map[string]string)}
	for parents := range shapes(most) {
		for does := range assignments(len(parents) + 1) {
			r.every(t, parents, does, late)
		}
	}
	return r
}

// shapes are all trees of up to so many members: for each but the first its parent.
func shapes(most int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		for level := [][]int{nil}; len(level[0]) < most; {
			var next [][]int
			for _, parents := range level {
				if !yield(parents) {
					return
				}
				for up := range len(parents) + 1 {
					next = append(next, append(slices.Clone(parents), up))
				}
			}
			level = next
		}
	}
}

// assignments are all ways to give so many members a behaviour.
func assignments(members int) iter.Seq[[]behaviour] {
	return func(yield func([]behaviour) bool) {
		for does := make([]behaviour, members); yield(slices.Clone(does)); {
			at := 0
			for ; at < members; at++ {
				if does[at]++; does[at] < behaviours {
					break
				}
				does[at] = 0
			}
			if at == members {
				return
			}
		}
	}
}

// Every family of up to four is stopped in every order of deaths.
func TestSmallFamiliesWalkedWhole(t *testing.T) {
	walkAll(t, 4, false).compare(t, walked)
}

// So is every family of up to three where the snapshot behind a death may be missing, as
// it is where the dead was not drainit's child.
func TestSmallFamiliesSeenLate(t *testing.T) {
	walkAll(t, 3, true).compare(t, walkedLate)
}

// compare compares the numbers of cases.
func (r *result) compare(t *testing.T, want map[string]int) {
	t.Helper()
	t.Logf("%d families, %d orders of deaths, %d states", r.families, r.orders, r.states)
	all := maps.Clone(want)
	maps.Copy(all, r.cases)
	for _, what := range slices.Sorted(maps.Keys(all)) {
		t.Logf("%6d  %s, such as member %s", r.cases[what], what, r.such[what])
		if r.cases[what] != want[what] {
			t.Errorf("%s: %d cases, want %d", what, r.cases[what], want[what])
		}
	}
}
