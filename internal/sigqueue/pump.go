package sigqueue

import (
	"reflect"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// pump moves each signal from its slot to Stops or to the pending signals. It ends with the process, as the
// subscriptions do.
func (q *Queue) pump() {
	stops, resumes := window{}, false // a CONT has come, and waits for the TSTP before it
	ticks, settled := time.NewTicker(tick), time.NewTimer(unordered)
	from := q.sources(ticks.C, settled.C)
	ticks.Stop()
	settled.Stop()
	for {
		i, _, _ := reflect.Select(from)
		now := time.Now()
		switch sig := unix.Signal(i); {
		case i == atSettled:
			resumes = false
			q.resume()
		case i == atTick:
			if stops.isOver(now) {
				ticks.Stop()
			}
		case q.stops.Has(sig):
			a := stops.arrival(sig, now)
			if a.Earliest == now { // the window opens
				ticks.Reset(tick)
				q.termFirst(a)
			}
			q.Arrive(a)
		case sig == unix.SIGCONT && !resumes:
			resumes = true
			q.withdraw(unix.SIGTSTP)
			settled.Reset(unordered)
		case resumes && (sig == unix.SIGTSTP || sig == unix.SIGCONT):
		case sig == unix.SIGTSTP:
			q.withdraw(unix.SIGCONT)
			q.Put(sig)
		default:
			q.Put(sig)
		}
	}
}

// The indexes of the two timers among the sources. Between them each slot has the number of its signal.
const atTick, atSettled = 0, int(signals.ForceStop) + 1

func (q *Queue) sources(ticks, settled <-chan time.Time) (from []reflect.SelectCase) {
	from = append(from, receive(ticks))
	for _, slot := range q.slots[1:] {
		from = append(from, receive(slot))
	}
	return append(from, receive(settled))
}

func receive[T any](from <-chan T) reflect.SelectCase {
	return reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(from)}
}

// Of TSTP and CONT the last one counts, since the kernel keeps only one of them pending (signal(7)). If they
// come within this time, two threads may receive them in the wrong order. CONT counts then. A worker that
// missed a quiet drains at the next TERM, but one that missed a resume would idle for good.
const unordered = 5 * time.Millisecond

// termFirst puts a TERM before other, a stop signal that came together with it. After drainit was stopped or
// had no CPU time, the kernel delivers the lowest pending signal first (next_signal, kernel/signal.c). That
// may be INT, and a worker may die of INT.
func (q *Queue) termFirst(other Arrival) {
	if other.Signal == unix.SIGTERM || !q.stops.Has(unix.SIGTERM) {
		return
	}
	time.Sleep(unordered)
	select {
	case <-q.slots[unix.SIGTERM]:
		q.Arrive(Arrival{unix.SIGTERM, other.Earliest})
	default:
	}
}

// resume makes CONT pending, and drops a TSTP that came with it and is still in its slot.
func (q *Queue) resume() {
	select {
	case <-q.slots[unix.SIGTSTP]:
	default:
	}
	q.Put(unix.SIGCONT)
}
