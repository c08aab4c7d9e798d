package supervisor

import (
	"time"

	"drainit/forward"
	"drainit/internal/proc"
	"drainit/reaper"
)

// Record is what drainit plan judges a stop by. Each list is in the order of the events, with times since the
// stop began. It grows with the stop, which must be short. The methods of a nil Record do nothing.
type Record struct {
	Sent  []Sent
	Ended []Ended
}

// Sent is a stop signal that drainit has sent to one process.
type Sent struct {
	forward.Delivery
	To    proc.Process
	After time.Duration
}

// Ended is a child of drainit that has ended.
type Ended struct {
	reaper.WaitEvent
	After time.Duration
}

func (r *Record) sent(d forward.Delivery, after time.Duration) {
	if r == nil {
		return
	}
	for _, p := range d.Reached() {
		r.Sent = append(r.Sent, Sent{d, p, after})
	}
}

func (r *Record) ended(child reaper.WaitEvent, after time.Duration) {
	if r != nil {
		r.Ended = append(r.Ended, Ended{child, after})
	}
}
