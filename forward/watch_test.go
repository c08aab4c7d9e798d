package forward

import (
	"fmt"
	"testing"
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
