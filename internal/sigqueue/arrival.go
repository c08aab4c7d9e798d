package sigqueue

import (
	"time"

	"golang.org/x/sys/unix"
)

// Arrival is a stop signal and when it came, however late the loop gets to it.
type Arrival struct {
	Signal   unix.Signal
	At       time.Time // when it was taken in
	Earliest time.Time // when none waited last: it came no earlier
}

// Came is a signal that came at a time that is known.
func Came(sig unix.Signal, at time.Time) Arrival { return Arrival{sig, at, at} }

// stampStops notes when each stop signal comes. Under a limit of CPU time this goroutine,
// too, runs late at times: two signals that came together may be taken in far apart. So
// each has the last time, too, at which none waited, which is looked for once more when a
// signal is that old.
func (q *Queue) stampStops(old time.Duration) {
	none := time.Now()
	timer, due := time.NewTimer(0), none
	<-timer.C
	for looks := 0; ; {
		select {
		case sig := <-q.came:
			now := time.Now()
			q.stamp(Arrival{sig.(unix.Signal), now, none})
			due, looks = now.Add(old), 0
			timer.Reset(old)
		case <-timer.C:
			now := time.Now()
			if looks++; now.Sub(due) > onTime && looks < mostLooks {
				due = now.Add(onTime)
				timer.Reset(onTime)
			} else if len(q.came) == 0 {
				none = now
			}
		}
	}
}

// A look that is late may have come before a signal that the kernel has still to hand
// over: there is another one soon, but not for ever.
const (
	onTime    = 20 * time.Millisecond
	mostLooks = 4
)

func (q *Queue) stamp(a Arrival) {
	select {
	case q.Stops <- a:
	default:
	}
}
