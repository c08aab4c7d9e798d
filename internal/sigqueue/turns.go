package sigqueue

import (
	"time"

	"golang.org/x/sys/unix"
)

// turns are quiet and resume. Of TSTP and CONT the last that came counts, as the kernel keeps
// only one of them pending (signal(7)). Which was the last is not certain where they come close
// together, for two threads may take them: that is then the CONT. A worker that loses a quiet
// drains at the next TERM, and one that lost a resume would idle for good.
type turns struct {
	settling bool        // a TSTP counts as before the CONT
	settled  *time.Timer // the end of that
}

// settles is how close together a TSTP and a CONT may be taken in the wrong order.
const settles = 5 * time.Millisecond

func (q *Queue) quiet(t *turns) {
	if !t.settling {
		q.atQuiet.Store(q.continued.Load())
		q.withdraw(unix.SIGCONT)
		q.Put(unix.SIGTSTP)
	}
}

func (q *Queue) resume(t *turns) {
	q.continued.Add(1)
	awaited := q.awaited.Swap(false)
	if t.settling {
		return
	}
	q.withdraw(unix.SIGTSTP, unix.SIGCONT)
	if awaited {
		q.Put(unix.SIGCONT)
		return
	}
	t.settling = true
	t.settled.Reset(settles)
}

// settle is at the end of that time. A TSTP that waits has come within it.
func (q *Queue) settle(t *turns) {
	t.settling = false
	select {
	case <-q.slots[unix.SIGTSTP]:
	default:
	}
	q.Put(unix.SIGCONT)
}

// Continued is how often a CONT has come.
func (q *Queue) Continued() uint64 { return q.continued.Load() }

// ContinuedAtQuiet is the same, when the last TSTP came.
func (q *Queue) ContinuedAtQuiet() uint64 { return q.atQuiet.Load() }

// Overtaken reports whether a CONT has come since the last TSTP.
func (q *Queue) Overtaken() bool {
	return q.Continued() != q.ContinuedAtQuiet() || len(q.slots[unix.SIGCONT]) > 0
}

// AwaitContinue says whether the next CONT ends a stop of drainit's own, so that it need
// not settle first.
func (q *Queue) AwaitContinue(awaited bool) { q.awaited.Store(awaited) }
