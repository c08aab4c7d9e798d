package forward

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"drainit/internal/proc"
)

// harm is what drainit does to a member that tini -s or tini -g keeps: one that is signalled once, and ends
// its work before tini exits, which it does with the worker, or the platform kills.
type harm struct {
	member int
	kind   string
	when   schedule
	what   string
}

// turnsIn is how many of the times of a manager are over in a pause: a second, and five if it visibly pauses.
func turnsIn(pause time.Duration) (n int) {
	for _, ticks := range []int{waitingTime, steppingTime} {
		if pause > time.Duration(ticks)*proc.Tick {
			n++
		}
	}
	return n
}

// isLike reports whether a harm is the same as another, in like times.
func (h harm) isLike(other harm) bool {
	a, b := h.when, other.when
	return h.kind == other.kind && a.work == b.work && a.idle == b.idle &&
		turnsIn(a.pause) == turnsIn(b.pause)
}

// kindOf is what the harm is. What the final call signals has seconds left, whatever else has signalled it.
func kindOf(m *member) string {
	switch twice := m.drainit+len(m.others) > 1; {
	case twice && (m.call == Orphans || m.drainit == 0):
		return "signalled twice"
	case twice && m.call == LastCall:
		return "signalled twice by the last call"
	}
	return "late"
}

// harms plays a family below each init, with each schedule.
func (f family) harms() (all []harm) {
	for _, s := range schedules() {
		below := make(map[peer]*timeline)
		for _, by := range []peer{tini, tiniGroups, drainits} {
			below[by] = &timeline{family: slices.Clone(f), schedule: s, under: by}
			if by != drainits || below[tini].keepsAny() || below[tiniGroups].keepsAny() {
				below[by].play()
			}
		}
		for i := range f {
			for _, by := range []peer{tini, tiniGroups} {
				d := below[drainits]
				if m := &d.family[i]; below[by].kept(i) && !d.kept(i) {
					what := fmt.Sprintf(
						"%v keeps member %d, which is %s: by drainit %d times (%s), and by %v (%v)",
						by, i, kindOf(m), m.drainit, m.rule, m.others, s)
					all = append(all, harm{i, kindOf(m), s, what})
				}
			}
		}
	}
	return all
}

// schedules are the times with which each family is played. What works ends soon, or at a limit of its own,
// which the protocol of the workers has as 30 s.
func schedules() (all []schedule) {
	for _, work := range []time.Duration{time.Second, 30 * time.Second} {
		for _, pause := range []time.Duration{
			moment, 300 * time.Millisecond, 2 * time.Second, 6 * time.Second} {
			for _, lag := range []time.Duration{0, 30 * time.Millisecond} {
				all = append(all, schedule{work, pause, lag, true}, schedule{work, pause, lag, false})
			}
		}
	}
	return all
}

// drainit keeps what tini -s or tini -g keeps of each family, be it of managers that act in steps, poll, or
// know by name what is below, and of workers with a limit of their own. The page of limits lists by name the
// families of which it does not. A family with the same harm that has a listed one inside, with others
// between and beside, is not listed.
func TestWhatTiniKeepsIsKept(t *testing.T) {
	listed := readLimits(t)
	walks := []walkOfHarm{
		{3, []behaviour{noHandler, finishes, passesOn, passesLeaves, waitsOnly, waitingShell, trapShell,
			dashShell, groupRelay, stepsOn, stepsTree, stepsGroup, stepsByName, steppingShell, polls,
			stepsUnseen, tellsAndLeaves, waitsForOutput, drainsItself, adopts}},
		{3, []behaviour{noHandler, finishes, asksOtherwise, stepsWhenAsked}},
	}
	if os.Getenv("DRAINIT_TEST_ALL") != "" { // half a minute
		walks = append(walks,
			walkOfHarm{4, []behaviour{noHandler, finishes, passesOn, passesLeaves, waitsOnly, trapShell,
				groupRelay, stepsTree, adopts}},
			walkOfHarm{4, []behaviour{finishes, asksOtherwise, stepsWhenAsked, noHandler}},
			walkOfHarm{4, []behaviour{noHandler, finishes, stepsByName, stepsUnseen, tellsAndLeaves,
				waitsForOutput}})
	}
	for _, w := range walks {
		w.run(t, &listed)
	}
	for _, l := range listed {
		if len(l.harms) == 0 {
			t.Errorf("%v is in the page of limits, and is kept", l.family)
		}
	}
}

// readLimits reads the table in the page of limits: families, by which init they are kept, what drainit does
// to them, and with which times.
func readLimits(t *testing.T) (listed []*limit) {
	t.Helper()
	page, err := os.ReadFile("testdata/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.Lines(string(page)) {
		cells := strings.Split(row, "|")
		for _, m := range inRow.FindAllStringSubmatch(cells[min(3, len(cells)-1)], -1) {
			f, kind, with := familyOf(t, m[1]), strings.TrimSpace(cells[1]), strings.TrimSpace(cells[5])
			listed = append(listed, &limit{f, slices.DeleteFunc(f.harms(), func(h harm) bool {
				return h.kind != kind || with != "any" && !strings.Contains(h.when.String(), with)
			})})
		}
	}
	return listed
}

var inRow = regexp.MustCompile("`([a-z_]+0\\([^`]*)`")

// walkOfHarm are all families of up to so many members that behave in these ways.
type walkOfHarm struct {
	most  int
	these []behaviour
}

// limit is a family that is listed.
type limit struct {
	family
	harms []harm
}

// run plays them all, and names the families that no listed one covers.
func (w walkOfHarm) run(t *testing.T, listed *[]*limit) {
	var families []family
	for parents := range shapes(w.most) {
		for _, does := range assignments(w.these, len(parents)+1) {
			if f := newFamily(parents, does); f.managersManage() {
				families = append(families, f)
			}
		}
	}
	harms := make([][]harm, len(families))
	var all sync.WaitGroup
	for part := range 4 {
		all.Go(func() {
			for n := part; n < len(families); n += 4 {
				harms[n] = families[n].harms()
			}
		})
	}
	all.Wait()
	t.Logf("%d families of up to %d", len(families), w.most)
	for n, f := range families {
		for _, h := range harms[n] {
			if !slices.ContainsFunc(*listed, func(l *limit) bool { return l.covers(f, h) }) {
				t.Errorf("%v: %s: not in the page of limits", f, h.what)
				*listed = append(*listed, &limit{f, harms[n]})
			}
		}
	}
}

// covers reports whether a family with a harm has the listed one in it, with the same harm.
func (l *limit) covers(f family, h harm) bool {
	return slices.ContainsFunc(l.harms, func(own harm) bool {
		return h.isLike(own) && l.fits(f, func(at []int) bool { return at[own.member] == h.member })
	})
}

// fits reports whether each member has a place in another family, at one that is like it, and below the place
// of the one that has started it.
func (f family) fits(in family, is func(at []int) bool) bool {
	var at []int
	var place func() bool
	place = func() bool {
		if len(at) == len(f) {
			return is(at)
		}
		m := f[len(at)]
		for i := range in {
			below := m.started == drainitSends || slices.Contains(in.started(at[m.started], true), i)
			if below && !slices.Contains(at, i) && in[i].does.isLike(m.does) {
				at = append(at, i)
				if place() {
					return true
				}
				at = at[:len(at)-1]
			}
		}
		return false
	}
	return place()
}

// managersManage reports whether each has a child that does more than to work, or to die.
func (f family) managersManage() bool {
	for i := range f {
		leaf := f[i].does == noHandler || f[i].does.isLike(finishes)
		if !leaf && len(f.started(i, false)) == 0 {
			return false
		}
	}
	return true
}

// plainer are the behaviours that are as others, with something added. What works, or signals one after the
// other, leaves some of those below it without a signal meanwhile; in the end it goes, as what dies does.
var plainer = map[behaviour][]behaviour{
	finishes: {waitsOnly, noHandler}, dashShell: {trapShell}, waitingShell: {passesOn}, polls: {passesOn},
	tellsAndLeaves: {passesLeaves}, waitsForOutput: {passesOn}, drainsItself: {passesOn, finishes},
	stepsUnseen: {stepsTree}, groupRelay: {passesOn}, stepsOn: {passesOn, waitsOnly},
	stepsTree: {groupRelay, waitsOnly}, stepsGroup: {stepsTree},
	stepsByName: {stepsTree}, steppingShell: {stepsByName}, adopts: {passesOn},
}

func (b behaviour) isLike(other behaviour) bool {
	return b == other || slices.ContainsFunc(plainer[b], func(p behaviour) bool { return p.isLike(other) })
}
