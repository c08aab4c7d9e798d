package forward

import "golang.org/x/sys/unix"

// checkForeseen compares what was foreseen of a family with what became of it in one order of deaths: drainit may do
// otherwise only where it was said, but for an orphan, whose turn comes when the one above it has gone.
func (w *walk) checkForeseen() {
	for i := range w.family {
		m, f := &w.family[i], w.foreseen[i]
		byCall, wrong := m.rule == "the grace period is nearly over" || m.rule == "the kill is near", ""
		switch {
		case f.Now && f.Busy == "" && m.drainit == 0 && len(m.others) == 0:
			wrong = "was to be signalled, and was not"
		case f.Now && f.Else == Stop && byCall:
			wrong = "was to be signalled at once, and was by a call"
		case !f.Now && f.Else == Stop && byCall:
			wrong = "was not to be signalled by a call, and was"
		case !f.Now && m.foretold && m.call == Orphans && m.drainit > 0:
			wrong = "was to wait, and was signalled at once"
		}
		if wrong != "" {
			w.t.Fatalf("%v: member %d %s (idle: %v, deaths: %v): %+v", w.family, i, wrong, w.idle, w.deaths, f)
		}
	}
}

// foresee is what is foreseen of a family, by member.
func (f family) foresee(k kind) (all []Simulated) {
	all = make([]Simulated, len(f))
	r := Request{Signal: unix.SIGTERM, Tick: 1000}
	for id, foreseen := range newPlayed().Simulate(r, f.snapshot(k), f.snapshot(k)) {
		all[id.PID-firstPID] = foreseen
	}
	return all
}
