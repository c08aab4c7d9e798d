package journal

import (
	"fmt"

	"drainit/forward"
)

// Undecided is a process of which it can't be known whether it was signalled.
func (j *Journal) Undecided(u forward.Undecided) {
	why := "its parent, which has gone"
	switch {
	case u.Waits:
		why = u.Parent.String() + ", or that waits for it and can't run its trap"
	case u.Parent.PID != 0:
		why = u.Parent.String() + ", which has gone"
	}
	j.Log.Info(fmt.Sprintf("%v may have been signalled by %s: drainit signals it in the last seconds of the grace period only; --forward group would signal the group at once",
		u.Process, why), about(u.Process, j.phase())...)
}

// Waiting is a process that was not signalled, and why.
func (j *Journal) Waiting(w forward.Waiting) {
	if j.Log.Verbose() {
		j.Log.Debug(fmt.Sprintf("not signalled: %v: %s", w.Process, w.Rule), about(w.Process, j.phase())...)
	}
}
