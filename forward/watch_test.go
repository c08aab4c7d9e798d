package forward

import (
	"fmt"
	"testing"
	"time"
)

// wait4 tells of drainit's own children.
func TestWhichDeathsAreWatched(t *testing.T) {
	l := NewLedger(drainitPID)
	shown := kinfolk(kin{"app", 10, 1}, kin{"dash", 11, 10}, kin{"app", 12, 11}, kin{"app", 13, 10}, kin{"app", 14, 10})
	sentAll(l, l.Plan(term(Stop), with(shown, details{Writers: map[int][]int{14: {13, 99}}})))
	want := "[{11 100} {13 100}]" // one has a child, the other is read from
	if got := fmt.Sprint(l.Watched()); got != want {
		t.Errorf("watched are %v, want %v", got, want)
	}
	l.Died(11)
	l.Died(10) // not so, as long as it was not waited for
	if got, want := fmt.Sprint(l.Watched()), "[{13 100}]"; got != want {
		t.Errorf("watched are %v behind a death, want %v", got, want)
	}
	if !l.alive(l.worker) {
		t.Error("the worker counts as dead, and was not waited for")
	}
}

// A process has 50 ms to act upon what it was sent. Then those below it are looked at each second, and
// later each five.
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
		{[]kin{{"app", 10, 1}, {"app", 11, 10}}, 200, late},
		{[]kin{{"app", 10, 1}, {"app", 11, 10}}, 600, 3 * time.Second},
		{[]kin{{"blocks", 10, 1}, {"dies", 11, 10}}, 5000, 5 * time.Second},
	} {
		l := stopping(t, kinfolk(tt.family...)...)
		l.now = 1000 + tt.after
		if got := l.Recheck(); got != tt.want {
			t.Errorf("%v, %d ticks after the signal: %v, want %v", tt.family, tt.after, got, tt.want)
		}
	}
}
