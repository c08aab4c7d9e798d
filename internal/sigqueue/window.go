package sigqueue

import (
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
)

// Arrival is a stop signal and when it came at the earliest: when it was taken in, or with an
// earlier one that had its window open.
type Arrival struct {
	Signal   unix.Signal
	Earliest time.Time
}

// window is the time after a stop signal in which one more may be the same request. Under a limit of CPU time drainit takes in far apart what came together:
// so the window is over when drainit has run in time for 100 ms, or after 0.8 s.
type window struct{ opened, ticked, ends time.Time }

const (
	widest = 800 * time.Millisecond
	tick   = 20 * time.Millisecond // how often the pump checks whether it runs in time
	late   = 10 * time.Millisecond
)

// arrival is a stop signal that is taken in now.
func (w *window) arrival(sig unix.Signal, now time.Time) Arrival {
	if now.Sub(w.opened) >= widest { // or none is open
		*w = window{now, now, now.Add(machine.SameRequest)}
	}
	return Arrival{sig, w.opened}
}

// isOver is to be asked each tick from the first arrival on.
func (w *window) isOver(now time.Time) bool {
	if now.Sub(w.ticked) > tick+late {
		w.ends = now.Add(machine.SameRequest)
	}
	w.ticked = now
	if now.Before(w.ends) && now.Sub(w.opened) < widest {
		return false
	}
	*w = window{}
	return true
}
