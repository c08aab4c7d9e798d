package sigqueue

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// others are the signals but for the stop signals that the loop has still to take. One that
// comes again meanwhile is the same, as it is in the kernel.
type others struct {
	these atomic.Uint64 // a signals.Set
	last  unix.Signal   // that was taken: each has its turn
}

func (o *others) add(sig unix.Signal) { o.these.Or(uint64(signals.SetOf(sig))) }

func (o *others) withdraw(all ...unix.Signal) { o.these.And(^uint64(signals.SetOf(all...))) }

// Put has the loop take a signal that is no stop signal, or CHLD to wait for children.
func (q *Queue) Put(sig unix.Signal) {
	q.others.add(sig)
	q.Wake()
}

// Any reports whether one was put that is not taken.
func (q *Queue) Any() bool { return q.others.these.Load() != 0 }

// Take returns one that was put, and is none of those that wait. It is for the loop alone.
func (q *Queue) Take(waiting signals.Set) (sig unix.Signal, ok bool) {
	for {
		these := signals.Set(q.others.these.Load()) &^ waiting
		if these == 0 {
			return 0, false
		}
		sig := these.Next(q.others.last)
		before := q.others.these.And(^uint64(signals.SetOf(sig)))
		if signals.Set(before).Has(sig) { // it was not withdrawn meanwhile
			if waiting == 0 { // else those that wait would lose their turns
				q.others.last = sig
			}
			return sig, true
		}
	}
}
