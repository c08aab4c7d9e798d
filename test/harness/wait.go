package harness

import (
	"fmt"
	"testing"
	"time"
)

// Patience bounds every wait for something that must happen: long enough for
// a busy machine, and no test's own measure of time.
const Patience = time.Minute

// WaitUntil waits for something that can only be looked at.
func WaitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	if !Eventually(ok) {
		t.Fatalf("never: %s", what)
	}
}

// Eventually looks until something is so, ever less often: a busy machine is not kept busier.
func Eventually(ok func() bool) bool {
	for began := time.Now(); !ok(); time.Sleep(min(time.Millisecond+time.Since(began)/10, 50*time.Millisecond)) {
		if time.Since(began) > Patience {
			return false
		}
	}
	return true
}

// Ready starts a worker that prints "ready PID" and returns its pid out here.
func Ready(t *testing.T, p *Init) int {
	t.Helper()
	var pid int
	if _, err := fmt.Sscan(p.WaitOut(`^ready (\d+)`)[1], &pid); err != nil {
		t.Fatal(err)
	}
	return p.HostPid(pid)
}

// WantTook checks how long something took since a moment before it began. The
// lower bound is exact; a test that gives an upper one leaves room for a busy machine.
func WantTook(t *testing.T, since time.Time, atLeast, below time.Duration) {
	t.Helper()
	if took := time.Since(since); took < atLeast || took >= below {
		t.Errorf("took %v, want at least %v and less than %v", took, atLeast, below)
	}
}

// AtOnce bounds, for a busy machine, what takes milliseconds.
const AtOnce = 10 * time.Second

// WantEndSince checks that the init left at once, with 0, and nothing with it.
func WantEndSince(t *testing.T, p *Init, since time.Time) {
	t.Helper()
	p.WantExit(0)
	if took := time.Since(since); took > AtOnce {
		t.Errorf("the init ended %v after the last answer", took)
	}
	p.WantNothingLeft()
}
