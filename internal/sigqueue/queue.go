// Package sigqueue takes in the signals that come to drainit, so that none is lost and no
// flood of one pushes out another.
//
// os/signal puts each signal into a slot of its own, as it has one in the kernel. The pump, one
// goroutine, takes it from there: a stop signal goes to Stops with the time at which it came,
// any other into the set of those that are pending. The loop takes from both, and sleeps while
// there is nothing.
//
// The subscriptions are made in three steps, for all of them would be the longest part of the
// start: Open, Subscribe, and SubscribeRest after the fork.
//
// It owns each subscription and action of a signal. It must never act upon one, and never block
// a sender.
package sigqueue

import (
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// Queue receives the signals.
type Queue struct {
	Stops chan Arrival // the stop signals, in the order in which they came

	slots  [signals.ForceStop + 1]chan os.Signal // by signal: os/signal drops what its channel has no room for
	stops  signals.Set                           // the stop signals
	woken  chan struct{}                         // one slot
	others atomic.Uint64                         // a signals.Set: what was put and is not taken
	last   unix.Signal                           // that was taken of them: each has its turn
}

// New returns a queue that no signal comes to until it is subscribed.
func New() *Queue {
	q := &Queue{Stops: make(chan Arrival, 64), woken: make(chan struct{}, 1)}
	for sig := range q.slots {
		q.slots[sig] = make(chan os.Signal, 1)
	}
	return q
}

// Open begins with TERM and INT: each may come at once.
func Open() *Queue {
	q := New()
	q.subscribe([]unix.Signal{unix.SIGTERM, unix.SIGINT})
	return q
}

// early are the signals that people, platforms and workers send at once, and ABRT, which ends
// drainit as long as it is not subscribed to.
var early = []unix.Signal{
	unix.SIGHUP, unix.SIGQUIT, unix.SIGABRT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH, unix.SIGTSTP, unix.SIGCONT,
}

// Subscribe begins to pass signals on, once. When it returns no stop signal is lost, and none that
// is named or early.
func (q *Queue) Subscribe(stops, named []unix.Signal) {
	q.stops = signals.SetOf(stops...)
	go q.pump()
	q.subscribe(slices.Concat(stops, early, named))
}

// SubscribeRest returns when no signal that comes is lost. For 32 and 34 the Go runtime has no
// handler: they would end a drainit that is not PID 1. A child would inherit that they are
// ignored, so none may be started any longer.
func (q *Queue) SubscribeRest() {
	for _, sig := range []unix.Signal{32, 34} {
		_, _ = SetAction(sig, Ignore)
	}
	q.subscribe(append(signals.All(), unix.SIGCHLD))
	q.Put(unix.SIGCHLD) // a child may have ended before
}

// subscribe to each of these that can be forwarded, and to CHLD. A HUP that is ignored at the
// start, as by nohup(1), stays ignored, for the worker too. To subscribe once more changes nothing.
func (q *Queue) subscribe(these []unix.Signal) {
	var done sync.WaitGroup
	done.Go(func() { // on the locked main thread each would take longer
		for _, sig := range these {
			if sig == unix.SIGCHLD || sig == signals.ForceStop || signals.Forwardable(sig) && (sig != unix.SIGHUP || !signal.Ignored(sig)) {
				signal.Notify(q.slots[sig], sig)
			}
		}
	})
	done.Wait()
}

// Put has the loop take a signal that is no stop signal; CHLD is to wait for children. One that
// comes again before it is taken is the same, as it is in the kernel.
func (q *Queue) Put(sig unix.Signal) {
	q.others.Or(uint64(signals.SetOf(sig)))
	q.Wake()
}

// withdraw takes back what was put, and reports whether it was still there.
func (q *Queue) withdraw(sig unix.Signal) bool {
	this := signals.SetOf(sig)
	return signals.Set(q.others.And(^uint64(this)))&this != 0
}

// Pending are the signals that were put and are not taken.
func (q *Queue) Pending() signals.Set { return signals.Set(q.others.Load()) }

// Take takes a signal that was put, and is none of those that wait. It is for the loop alone.
func (q *Queue) Take(waiting signals.Set) (sig unix.Signal, ok bool) {
	for !ok { // the pump may withdraw one meanwhile
		these := q.Pending() &^ waiting
		if these == 0 {
			return 0, false
		}
		sig = these.Next(q.last)
		ok = q.withdraw(sig)
	}
	if waiting == 0 { // else those that wait would lose their turns
		q.last = sig
	}
	return sig, true
}

// Arrive has the loop take a stop signal. What a flood of them pushes out would say the same.
func (q *Queue) Arrive(a Arrival) {
	select {
	case q.Stops <- a:
		q.Wake()
	default:
	}
}

// StopPending reports whether a stop signal waits to be taken.
func (q *Queue) StopPending() bool {
	for sig, slot := range q.slots {
		if q.stops.Has(unix.Signal(sig)) && len(slot) > 0 {
			return true
		}
	}
	return len(q.Stops) > 0
}

// Wake ends the loop's sleep, or the next one at once. Call it after whatever the loop is to find.
func (q *Queue) Wake() {
	select {
	case q.woken <- struct{}{}:
	default:
	}
}

// Sleep returns when Wake was called since it last returned or, where that is limited, at a time.
func (q *Queue) Sleep(until time.Time, limited bool) {
	var over <-chan time.Time
	if limited {
		over = time.After(time.Until(until))
	}
	select {
	case <-q.woken:
	case <-over:
	}
}
