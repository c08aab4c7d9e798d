package supervisor

import (
	"time"

	"drainit/forward"
	"drainit/internal/proc"
)

// Looks in a stop that are less than a snapshot.

// witness reads, before a first plan is carried out, what shows later of the others whether
// they have received a signal since.
func (s *Supervisor) witness(plan []forward.Delivery, before *proc.Snapshot) {
	if want, needed := s.ledger.WantWitness(plan, before, time.Now()); needed {
		if now, err := s.sys.Snapshot(want); err == nil {
			s.ledger.Witness(now)
		}
	}
}

// isUnsettled reports whether a snapshot is due, for something that was signalled may not act
// upon it: mostly a look at that alone says that it isn't.
func (s *Supervisor) isUnsettled() bool {
	tick := s.sys.Ticks()
	if s.glance(tick) {
		return true
	}
	s.machine.LookedAgain(time.Now(), s.ledger.Recheck(tick))
	return false
}

// glance looks at what was signalled and may not act upon it, and reports whether a snapshot
// is due.
func (s *Supervisor) glance(tick uint64) (due bool) {
	want, ok := s.ledger.Glance(tick, time.Now().Add(waitersTime))
	if !ok {
		return true
	}
	if len(want.These) == 0 {
		return false
	}
	defer s.bound(time.Now(), false)
	these, err := s.sys.Snapshot(want)
	return err != nil || s.ledger.Glanced(want, these)
}
