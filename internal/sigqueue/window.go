package sigqueue

import (
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
)

// Arrival is a stop signal and the earliest time at which it can have been sent. That is when drainit
// received it, or when the window opened in which drainit received it.
type Arrival struct {
	Signal   unix.Signal
	Earliest time.Time
}

// window is the time after a stop signal in which another may be the same request. Under a CPU limit, drainit
// may receive far apart what was sent together. So the window closes once drainit has not been held up for
// 100 ms, or after 0.8 s.
type window struct{ opened, ticked, ends time.Time }

const (
	widest = 800 * time.Millisecond
	tick   = 20 * time.Millisecond // how often the pump checks whether it runs on time
	late   = 10 * time.Millisecond
)

// arrival returns the Arrival of a signal that was received now. It opens the window if none is open.
func (w *window) arrival(sig unix.Signal, now time.Time) Arrival {
	if now.Sub(w.opened) >= widest { // or none is open
		*w = window{now, now, now.Add(machine.SameRequest)}
	}
	return Arrival{sig, w.opened}
}

// isOver reports whether the window has closed. It must be called at each tick from the first arrival on.
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
