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

// WantTookAtLeast checks that something did not come before its time, since a moment before it
// began. How long it took beyond that is the machine's.
func WantTookAtLeast(t *testing.T, since time.Time, atLeast time.Duration) {
	t.Helper()
	if took := time.Since(since); took < atLeast {
		t.Errorf("took %v, want at least %v", took, atLeast)
	}
}
