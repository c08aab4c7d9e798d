package sigqueue

import (
	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// putOff are signals for which there was no time. One that comes again meanwhile is the
// same, as it is in the kernel.
type putOff struct {
	these signals.Set
	last  bool // the last turn was theirs
}

// PutOff keeps a signal for later.
func (q *Queue) PutOff(sig unix.Signal) { q.putOff.these |= signals.SetOf(sig) }

// AnyPutOff reports whether one was kept.
func (q *Queue) AnyPutOff() bool { return q.putOff.these != 0 }

// TakePutOff returns one that was kept, every other time: what else waits for time has its
// turn between two.
func (q *Queue) TakePutOff() (sig unix.Signal, ok bool) {
	q.putOff.last = !q.putOff.last
	if !q.putOff.last || q.putOff.these == 0 {
		return 0, false
	}
	sig = q.putOff.these.Next(0)
	q.putOff.these &^= signals.SetOf(sig)
	return sig, true
}
