package forward

import (
	"flag"
	"iter"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/trees"
)

// walk is one stop of a family, in which the deaths come in an order that was chosen.
type walk struct {
	t *testing.T
	family
	kind
	l        *played
	tick     uint64
	choices  []int   // what happens next, by the number of the option
	options  []int   // how many there were, each time
	step     Purpose // of the plans after a death: Orphans until a call has been made
	deaths   []int
	cases    map[finding]bool
	foreseen []Simulated // by member
	cut      int         // one that drainit signalled too early, 0 for none
}

// kind is what holds for all families of a walk.
type kind struct {
	idle bool // all of them sleep, so that much can be proven
	late bool // a snapshot may come only after the next death
	// What acts upon the signal has handlers for INT and QUIT, too, or the defaults, so that
	// nothing shows that a shell has put it into the background.
	unmarked bool
	daemon   bool // the second member is a daemon from before the stop
}

// plan takes a snapshot and does what follows from it; any is whether that is something, or may be after some
// time.
func (w *walk) plan(purpose Purpose, after uint64) (any bool) {
	w.tick += after
	r := Request{Purpose: purpose, Signal: unix.SIGTERM, Tick: w.tick}
	all := w.l.deliveries(r, w.snapshot(w.kind))
	var fresh []int // a plan is carried out before what it signals can do anything
	for _, d := range all {
		w.l.Sent(d, w.tick)
		i := d.Process.PID - firstPID
		m := &w.family[i]
		if (w.reads(i) || w.top(i) != 0 && w.works()) && w.step != FinalCall {
			w.cut = i
		}
		if !m.signalled() {
			fresh = append(fresh, i)
		}
		m.receive()
		m.call, m.again = w.step, m.again || len(m.others) > 0
		m.drainit++
		m.rule, m.foretold = d.Rule, !slices.ContainsFunc(w.deaths, func(dead int) bool {
			up := &w.family[dead]
			return !up.dies() || up.drainit == 0 || len(up.others) > 0
		})
	}
	for _, i := range fresh {
		w.pass(i)
	}
	return len(all) > 0 || w.l.plan.Again > 0
}

// play stops the family. After each death is a snapshot. When none can die, there are
// more, until nothing follows from one, and then the last call; it also comes while only
// those live that take their time. After it, the final call comes when none can die.
func (w *walk) play() {
	w.plan(Stop, 0)
	for {
		these, slow := w.mayDie()
		switch {
		case len(these) == 0 && w.step == FinalCall:
			return
		case len(these) == 0 && w.step == LastCall:
			w.call(FinalCall)
		case len(these) == 0, slow && w.step == Orphans && w.choose(2) == 1:
			for w.plan(Orphans, 100) {
			}
			if _, slow = w.mayDie(); slow { // or none
				w.call(LastCall)
			}
		default:
			w.goOn(these[w.choose(len(these))])
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

// goOn lets a member die, or signal the others if it has only changed until now.
func (w *walk) goOn(i int) {
	switch m := &w.family[i]; {
	case m.blocksAWhile() && !m.rested: // a snapshot shows it with the signal pending
		m.rested = true
	case m.changes() && !m.told:
		m.change()
		w.pass(i)
	default:
		w.die(i)
	}
	if these, _ := w.mayDie(); w.late && len(these) > 0 && w.choose(2) == 1 {
		return
	}
	for w.plan(w.step, 10) && w.step != Orphans {
	}
}

func (w *walk) die(i int) {
	child := w.family[i].parent == drainitSends
	w.family.die(i)
	w.deaths = append(w.deaths, i)
	if child {
		w.l.Exited(firstPID+i, unix.WaitStatus(w.family[i].diedOf))
	} else {
		died(w.l.History, firstPID+i)
	}
	if up := w.endsWith(i); up >= 0 {
		w.die(up)
	}
}

func (w *walk) call(step Purpose) {
	w.note(calls[step] + ": ")
	w.step = step
	for w.plan(step, 100) {
	}
}

var calls = map[Purpose]string{LastCall: "last call", FinalCall: "final call"}

// every plays a family in every order of deaths, if it makes sense.
func (r *result) every(t *testing.T, parents []int, does []behaviour, k kind) {
	if k.daemon {
		if len(parents) == 0 {
			return
		}
		parents = append([]int{drainitSends}, parents[1:]...)
	}
	if f := newFamily(parents, does); f.makesSense() {
		r.walk(t, f, k)
	}
}

func (r *result) walk(t *testing.T, f family, k kind) {
	cases, foreseen := make(map[finding]bool), f.foresee(k)
	for choices := []int(nil); ; {
		w := &walk{t: t, family: slices.Clone(f), kind: k, l: newPlayed(), tick: 1000, step: Orphans,
			choices: choices, cases: cases, foreseen: foreseen}
		w.play()
		w.check()
		w.checkForeseen()
		r.orders++
		if choices = w.following(); choices == nil {
			break
		}
	}
	r.add(f, cases)
}

// following are the choices of the next walk, nil after the last.
func (w *walk) following() []int {
	for n := len(w.choices) - 1; n >= 0; n-- {
		if w.choices[n]+1 < w.options[n] {
			w.choices[n]++
			return w.choices[:n+1]
		}
	}
	return nil
}

// walkAll walks all families of up to so many members that behave in these ways.
func walkAll(t *testing.T, most int, these []behaviour, k kind) *result {
	r := newResult()
	for parents := range shapes(most) {
		for _, does := range assignments(these, len(parents)+1) {
			r.every(t, parents, does, k)
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

// assignments are all ways to give so many members one of these behaviours.
func assignments(these []behaviour, members int) (all [][]behaviour) {
	most := 1
	for range members {
		most *= len(these)
	}
	for n := range most {
		does := make([]behaviour, members)
		for i := range does {
			does[i], n = these[n%len(these)], n/len(these)
		}
		all = append(all, does)
	}
	return all
}

var written = flag.String("family", "trap_in_wait0(dies1(finishes3) finishes2)",
	"the family that TestOneFamily walks")

// A family that a message of the others names is walked by itself: go test ./forward -run OneFamily -v
// -family TREE.
func TestOneFamily(t *testing.T) {
	f := familyOf(t, *written)
	for _, h := range f.harms() {
		t.Log(h.what)
	}
	if slices.ContainsFunc(f, func(m member) bool { return m.does >= waitsOnly }) { // of the timelines alone
		return
	}
	walked := make(map[kind]bool)
	for _, tt := range walks {
		if tt.daemon = false; walked[tt.kind] { // it matters for families that are made
			continue
		}
		walked[tt.kind] = true
		r := newResult()
		r.walk(t, f, tt.kind)
		t.Logf("%+v: %q", tt.kind, r.such)
	}
}

// familyOf reads a family in the tests' notation.
func familyOf(t *testing.T, text string) family {
	t.Helper()
	var parents []int
	var does []behaviour
	trees.Each(text, drainitSends, func(p trees.Process, parent int) int {
		name, i, ok := p.Numbered()
		index := slices.Index(behaves[:], name)
		if !ok || index < 0 {
			t.Fatalf("no member: %q", p.Name)
		}
		for len(does) <= i {
			parents, does = append(parents, 0), append(does, 0)
		}
		parents[i], does[i] = parent, behaviour(index)
		return i
	})
	if len(parents) == 0 {
		t.Fatal("no member")
	}
	f := newFamily(parents[1:], does)
	if f.String() != text || !f.makesSense() {
		t.Fatalf("%v, which is no family", f)
	}
	return f
}
