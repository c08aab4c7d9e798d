package forward

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// What a plan says of each process: whether it is signalled now, and otherwise whether another is expected to
// signal it, and which call does at the latest. The job is left to app up to the final call, and redis up to
// the last call.
func TestSimulate(t *testing.T) {
	term := signals.SetOf(unix.SIGTERM)
	seen := func() *proc.Snapshot {
		return proc.New([]proc.Process{
			shownAs("app", 10, drainitPID, 10, term), shownAs("job", 11, 10, 10, term),
			shownAs("redis", 12, drainitPID, 12, term)})
	}
	got := make(map[int]string)
	for id, f := range newPlayed().Simulate(Request{Signal: unix.SIGTERM, Tick: 1000}, seen(), seen()) {
		got[id.PID] = fmt.Sprintf("now %v, delegated %v, else %d: %s", f.Now, f.Delegated, f.Else, f.Rule)
	}
	for pid, want := range map[int]string{
		10: "now true, delegated false, else 0: the worker",
		11: "now false, delegated true, else 3: left to app[10]",
		12: "now false, delegated false, else 3: waits until the worker has gone",
	} {
		if got[pid] != want {
			t.Errorf("%d: %q, want %q", pid, got[pid], want)
		}
	}
}

// checkForeseen compares what was foreseen of a family with what became of it in one order of deaths: drainit
// may do otherwise only where it was said, but for an orphan, whose turn comes when the one above it has
// gone.
func (w *walk) checkForeseen() {
	for i := range w.family {
		m, f := &w.family[i], w.foreseen[i]
		byCall, wrong := m.rule == "the grace period is nearly over" || m.rule == "the kill is near", ""
		switch {
		case f.Now && f.Busy == "" && m.drainit == 0 && len(m.others) == 0:
			wrong = "was to be signalled, and was not"
		case f.Now && f.Else == Stop && byCall:
			wrong = "was to be signalled at once, and was by a call"
		case !f.Now && f.Else == Stop && byCall && m.does != groupRelay: // which is left alone for a time
			wrong = "was not to be signalled by a call, and was"
		case f.Else == LastCall && m.rule == "the kill is near" && !slices.ContainsFunc(w.family, takesLate):
			wrong = "was to be signalled by the last call, and was by the final one"
		case !f.Now && m.foretold && m.call == Orphans && m.drainit > 0:
			wrong = "was to wait, and was signalled at once"
		}
		if wrong != "" {
			w.fails("member %d %s: %+v", i, wrong, f)
		}
	}
}

// takesLate reports whether a member has the signal pending, and then takes it: it may act, unlike foreseen.
func takesLate(m member) bool { return m.does == takesItLate }

// foresee is what is foreseen of a family, by member.
func (f family) foresee(k kind) (all []Simulated) {
	all = make([]Simulated, len(f))
	r := Request{Signal: unix.SIGTERM, Tick: 1000}
	for id, foreseen := range newPlayed().Simulate(r, f.snapshot(k), f.snapshot(k)) {
		all[id.PID-firstPID] = foreseen
	}
	return all
}
