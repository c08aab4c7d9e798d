package sigqueue

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// Arrival is a stop signal and when it came, however late the loop gets to it.
type Arrival struct {
	Signal   unix.Signal
	At       time.Time // when it was taken in
	Earliest time.Time // when none waited last: it came no earlier
}

// stampStops notes when each stop signal comes. Under a limit of CPU time this goroutine,
// too, runs late at times: two signals that came together may be taken in far apart. So
// each has the last time, too, at which none waited, which is looked for once more when a
// signal is that old.
func (q *Queue) stampStops(old time.Duration) {
	l := look{none: time.Now(), timer: time.NewTimer(0)}
	<-l.timer.C
	for {
		select {
		case sig, ok := <-q.came:
			if !ok { // a test's end
				return
			}
			now := time.Now()
			q.stamp(Arrival{sig.(unix.Signal), now, l.none})
			l.begin(now, old)
		case <-q.stopped:
			l.begin(time.Now(), old)
		case <-l.timer.C:
			q.lookForStops(&l)
		}
	}
}

// look is the next time at which it is looked whether a stop signal waits.
type look struct {
	none  time.Time // the last one at which none did
	due   time.Time // zero: there is none to come
	timer *time.Timer
	times int // how often it was looked
}

// begin has it looked soon, unless it is already: one signal after the other could keep off
// the look.
func (l *look) begin(now time.Time, d time.Duration) {
	if l.due.IsZero() {
		l.times = 0
		l.after(now, d)
	}
}

func (l *look) after(now time.Time, d time.Duration) {
	l.due = now.Add(d)
	l.timer.Reset(d)
}

// Stopped says that another signal counted as a stop signal: of one that comes it must be
// known that it is later than that.
func (q *Queue) Stopped() {
	select {
	case q.stopped <- struct{}{}:
	default: // it is said already
	}
}

func (q *Queue) lookForStops(l *look) {
	now := time.Now()
	l.times++
	late := now.Sub(l.due) > onTime && l.times < mostLate
	if late || l.times < mostLooks && (len(q.came) > 0 || q.onTheWay()) {
		l.after(now, onTime)
		return
	}
	l.due, l.none = time.Time{}, now
}

// While a signal waits or is on the way, and where a look itself was late, there is another
// one soon, but not for ever: a flood has one wait all the time.
const (
	onTime    = 20 * time.Millisecond
	mostLate  = 4
	mostLooks = 20
)

// anyOnTheWay reports whether the kernel has still to hand over a stop signal. One that the
// runtime has to hand over is in the channel behind it: to end a subscription waits for that
// (os/signal.Stop).
func (q *Queue) anyOnTheWay() bool {
	pending, err := proc.OwnPending()
	none := make(chan os.Signal, 1)
	signal.Notify(none, unix.SIGPIPE) // which comes to another channel, too
	signal.Stop(none)
	return err == nil && pending&q.stops != 0
}

func (q *Queue) stamp(a Arrival) {
	select {
	case q.Stops <- a:
	default:
	}
}
