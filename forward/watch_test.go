package forward

import (
	"fmt"
	"testing"
	"time"

	"drainit/internal/proc"
)

// wait4 tells of drainit's own children.
func TestWhichDeathsAreWatched(t *testing.T) {
	l := NewLedger(drainitPID)
	shown := kinfolk(kin{"app", 10, 1}, kin{"dash", 11, 10}, kin{"app", 12, 11}, kin{"app", 13, 10}, kin{"app", 14, 10})
	writers := map[int][]int{14: {13, 99}}
	sentAll(l, l.Plan(term(Stop), proc.New(shown).With(proc.Details{Writers: writers})))
	want := "[{11 100} {13 100}]" // one has a child, the other is read from
	if got := fmt.Sprint(l.Watched()); got != want {
		t.Errorf("watched are %v, want %v", got, want)
	}
	l.Died(11)
	l.Died(10) // not so, as long as it was not waited for
	if got, want := fmt.Sprint(l.Watched()), "[{13 100}]"; got != want {
		t.Errorf("watched are %v behind a death, want %v", got, want)
	}
	if w := l.records[l.worker]; !l.alive(w) {
		t.Error("the worker counts as dead, and was not waited for")
	}
}

// A process has 50 ms to act upon what it was sent. Then it is looked at for as long as it
// may be deaf, first each second and later each five, and one that acts for a second.
func TestWhenASnapshotIsDueThoughNoneHasDied(t *testing.T) {
	const soon, late = 60 * time.Millisecond, time.Second
	for _, tt := range []struct {
		family []kin
		after  uint64
		want   time.Duration
	}{
		{[]kin{{"app", 10, 1}}, 0, 0},
		{[]kin{{"app", 10, 1}, {"app", 11, 10}}, 0, soon},
		{[]kin{{"app", 10, 1}, {"app", 11, 10}}, actsAfter - 1, soon},
		{[]kin{{"app", 10, 1}, {"app", 11, 10}}, actsAfter, late},
		{[]kin{{"app", 10, 1}, {"app", 11, 10}}, 99, late},
		{[]kin{{"app", 10, 1}, {"app", 11, 10}}, 100, 0},
		{[]kin{{"bash", 10, 1}, {"app", 11, 10}}, 100, late},
		{[]kin{{"ignores", 10, 1}, {"dies", 11, 10}}, 200, late},
		{[]kin{{"ignores", 10, 1}, {"dies", 11, 10}}, 600, 3 * time.Second},
		{[]kin{{"ignores", 10, 1}, {"dies", 11, 10}}, 5000, 5 * time.Second},
		{[]kin{{"blocks", 10, 1}, {"dies", 11, 10}}, 5000, 5 * time.Second},
	} {
		l := NewLedger(drainitPID)
		sentAll(l, l.Plan(term(Stop), proc.New(kinfolk(tt.family...))))
		if got := l.Recheck(1000 + tt.after); got != tt.want {
			t.Errorf("%v, %d ticks after the signal: %v, want %v", tt.family, tt.after, got, tt.want)
		}
	}
}

// Proven can be what has lost its parent, and what is below a deaf one: not what was
// signalled, and not what is the business of one that lives.
func TestOfWhichItIsAskedWhetherTheyWereTouched(t *testing.T) {
	shown := kinfolk(kin{"app", 10, 1}, kin{"dash", 11, 10}, kin{"app", 12, 11}, kin{"app", 13, 10})
	evidence := map[int]proc.Evidence{10: {{}}, 12: {{}}, 13: {{}}}
	l := NewLedger(drainitPID)
	sentAll(l, l.Plan(term(Stop), proc.New(shown).With(proc.Details{Evidence: evidence})))
	want := func(when string, purpose Purpose, want string) {
		t.Helper()
		r := term(purpose)
		r.Tick = 1001
		if got := describeWant(l.Want(r, time.Time{})); got != "parents 1, TERM, pipes"+want {
			t.Errorf("%s: %q, want %q at its end", when, got, want)
		}
	}
	want("at first", Orphans, "")
	want("for the last call", LastCall, ", all 1, prove 12, prove 13")
	l.Died(11)
	want("when a parent has died", Orphans, ", prove 12")
	l.Exited(10, 0)
	want("when the worker has gone", Orphans, ", prove 12, prove 13")
	wantSent(t, "the worker may have signalled both", orphans(l, kindly("app", 12, 1), kindly("app", 13, 1)))
	want("when both are left until the last call", Orphans, "")
}
