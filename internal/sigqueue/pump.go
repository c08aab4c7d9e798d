package sigqueue

import (
	"reflect"
	"time"

	"golang.org/x/sys/unix"
)

// pump is the goroutine that takes each signal from its slot. It ends with the process, as the
// subscriptions do.
type pump struct {
	q     *Queue
	from  []reflect.SelectCase // the slots, and in two places that are no signal's the timers
	stops window
	last  unix.Signal // of TSTP and CONT that came just now
}

// The timers: when drainit is to see whether it runs in time, and when a CONT counts.
const (
	ticked  = 0
	settled = maxSignal + 1
)

func (q *Queue) pump() {
	p := pump{q: q}
	for _, slot := range q.slots {
		p.from = append(p.from, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(slot)})
	}
	for {
		i, _, _ := reflect.Select(p.from)
		p.take(i, time.Now())
	}
}

// take acts upon a signal or a timer.
func (p *pump) take(i int, now time.Time) {
	switch sig := unix.Signal(i); {
	case i == ticked:
		if !p.stops.isOver(now) {
			p.after(tick, ticked)
		}
	case i == settled:
		p.settle()
	case p.q.stops.Has(sig):
		a := p.stops.arrival(sig, now)
		if a.At == a.Earliest { // the window opens
			p.after(tick, ticked)
		}
		p.q.Arrive(a)
	case sig == unix.SIGTSTP, sig == unix.SIGCONT:
		p.turn(sig)
	default:
		p.q.Put(sig)
	}
}

func (p *pump) after(d time.Duration, timer int) {
	p.from[timer].Chan = reflect.ValueOf(time.After(d))
}

// settles is how close together a TSTP and a CONT may be taken in the wrong order, for two
// threads may take them.
const settles = 5 * time.Millisecond

// turn is for TSTP and CONT, of which the last that came counts, as the kernel keeps only one
// of them pending (signal(7)). Of those that come close together that is the CONT: a worker that
// loses a quiet drains at the next TERM, and one that lost a resume would idle for good.
func (p *pump) turn(sig unix.Signal) {
	if sig == unix.SIGCONT {
		p.q.withdraw(unix.SIGTSTP)
	}
	if p.last == 0 {
		p.after(settles, settled)
	}
	if p.last != unix.SIGCONT {
		p.last = sig
	}
}

// settle is at the end of that time: a TSTP that waits in its slot has come within it.
func (p *pump) settle() {
	if p.last == unix.SIGCONT {
		select {
		case <-p.q.slots[unix.SIGTSTP]:
		default:
		}
	}
	p.q.withdraw(unix.SIGTSTP, unix.SIGCONT)
	p.q.Put(p.last)
	p.last = 0
}
