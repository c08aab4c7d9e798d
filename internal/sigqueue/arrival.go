package sigqueue

import (
	"maps"
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
			q.Arrive(Arrival{sig.(unix.Signal), time.Now(), l.none})
			l.begin(old)
		case <-q.stopped:
			l.begin(old)
		case <-l.timer.C:
			q.lookForStops(&l)
		}
	}
}

// look is the next time at which it is looked whether a stop signal waits.
type look struct {
	none  time.Time // the last one at which none did
	due   bool
	timer *time.Timer
	times int // how often it was looked

	began time.Time // no signal waited in the kernel then
	// How far each thread was that was awake then, and may have taken one from the kernel
	// without having come to its handler.
	awake map[int]progress
}

// begin has it looked soon, unless it is already: one signal after the other could keep off
// the look.
func (l *look) begin(d time.Duration) {
	if !l.due {
		l.due, l.times, l.awake = true, 0, nil
		l.timer.Reset(d)
	}
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
	if l.times++; l.times == mostLooks {
		l.began = time.Now()
	} else if q.onTheWay(l) || len(q.came) > 0 {
		l.timer.Reset(min(time.Millisecond<<l.times, again))
		return
	}
	l.due, l.none = false, l.began
}

// While a signal may be on the way there is another look soon, and then one each again, but
// not for ever: a flood has one on the way all the time.
const (
	again     = 20 * time.Millisecond
	mostLooks = 24
)

// progress is what a thread has done so far.
type progress struct {
	ran   time.Duration
	slept uint64 // times, 0 where that is not known
}

// isThrough reports whether a thread has come to the end of a handler that it was on its way to
// before. It does not sleep on that way, unless its stack's memory is not there: that is once.
func (now progress) isThrough(before progress) bool {
	const toHandler = 200 * time.Microsecond // much more than it runs for that
	return now.ran > before.ran+toHandler || before.slept > 0 && now.slept > before.slept+1
}

// mayBeOnTheWay reports whether a stop signal that came before the look began may still be on
// its way to the channel: in the kernel; between it and its handler, on a thread that is kept
// from running; or in the runtime, for which the end of a subscription waits (os/signal.Stop).
func (q *Queue) mayBeOnTheWay(l *look) bool {
	if l.awake == nil {
		l.began = time.Now()
		if pending, err := proc.OwnPending(); err == nil && pending&q.stops != 0 {
			return true
		}
		l.awake = awake()
	} else {
		now := awake()
		maps.DeleteFunc(l.awake, func(tid int, before progress) bool {
			p, still := now[tid]
			return !still || p.isThrough(before)
		})
	}
	if len(l.awake) > 0 {
		return true
	}
	l.awake = nil // what waits in the channel has another look begin
	none := make(chan os.Signal, 1)
	signal.Notify(none, unix.SIGPIPE) // which comes to another channel, too
	signal.Stop(none)
	return false
}

// awake is how far each thread is that runs or waits for its turn.
func awake() map[int]progress {
	all := make(map[int]progress)
	tids, _ := proc.OthersAwake()
	for _, tid := range tids {
		all[tid] = progress{proc.ThreadTime(tid), proc.ThreadSleeps(tid)}
	}
	return all
}

// Arrive has the loop take a stop signal.
func (q *Queue) Arrive(a Arrival) {
	select {
	case q.Stops <- a:
		q.Wake()
	default:
	}
}
