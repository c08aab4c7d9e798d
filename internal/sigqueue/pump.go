package sigqueue

import (
	"reflect"
	"time"

	"golang.org/x/sys/unix"
)

// Arrival is a stop signal and when it came, however late the loop gets to it.
type Arrival struct {
	Signal   unix.Signal
	At       time.Time // when it was taken in
	Earliest time.Time // when it can have come: with an earlier one that had its window open
}

// window is the time after a stop signal in which one more may be the same request
// (machine.SameRequest). Under a limit of CPU time drainit, too, runs late at times, and takes
// in far apart what came together: so the window is over when drainit has run in time for as
// long, or after 0.8 s. A second stop that is meant as one comes later.
type window struct{ opened, tick, ends time.Time }

const (
	sameRequest = 100 * time.Millisecond
	widest      = 800 * time.Millisecond
	tick        = 20 * time.Millisecond // how often it is looked whether drainit runs in time
	late        = 10 * time.Millisecond
)

// arrival is a stop signal that is taken in now.
func (w *window) arrival(sig unix.Signal, now time.Time) Arrival {
	if w.opened.IsZero() || now.Sub(w.opened) >= widest {
		*w = window{now, now.Add(tick), now.Add(sameRequest)}
		return Arrival{sig, now, now}
	}
	return Arrival{sig, now, w.opened}
}

// isOver is for a timer each tick from the first arrival on.
func (w *window) isOver(now time.Time) bool {
	if now.Sub(w.tick) > late {
		w.ends = now.Add(sameRequest)
	}
	w.tick = now.Add(tick)
	if now.Before(w.ends) && now.Sub(w.opened) < widest {
		return false
	}
	w.opened = time.Time{}
	return true
}

// pump passes on what comes, and ends with the process, as the subscriptions do.
func (q *Queue) pump() {
	stops, ticks, order := window{}, stoppedTimer(), turns{settled: stoppedTimer()}
	from := []reflect.SelectCase{receive(ticks.C), receive(order.settled.C)}
	for _, slot := range q.slots {
		from = append(from, receive(slot))
	}
	for {
		i, came, _ := reflect.Select(from)
		now := time.Now()
		sig, _ := came.Interface().(unix.Signal)
		switch {
		case i == 0:
			if !stops.isOver(now) {
				ticks.Reset(tick)
			}
		case i == 1:
			q.settle(&order)
		case q.stops.Has(sig):
			q.Arrive(stops.arrival(sig, now))
			ticks.Reset(time.Until(stops.tick))
		case sig == unix.SIGTSTP:
			q.quiet(&order)
		case sig == unix.SIGCONT:
			q.resume(&order)
		default:
			q.Put(sig)
		}
	}
}

func receive(from any) reflect.SelectCase {
	return reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(from)}
}

func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}
