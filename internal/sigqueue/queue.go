// Package sigqueue receives the signals sent to drainit. A flood of one does not push out another: none is
// lost that would ask for anything more.
//
// os/signal puts each signal into a slot of its own, as the kernel does. One goroutine, the pump,
// moves stop signals to Stops, with the time at which they came, and all others to the set of
// pending signals. The loop takes from both.
//
// It subscribes in three steps (Open, Subscribe, SubscribeRest), since all at once would be the
// longest part of the start. It owns every action, and every subscription of a drainit that has a worker. It
// must never act upon a signal or block a sender.
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
	Stops chan Arrival // the stop signals, as they came; of those that came at once TERM first

	slots   [signals.ForceStop + 1]chan os.Signal // by signal: os/signal drops what a channel has no room for
	stops   signals.Set                           // the signals that are stop signals
	woken   chan struct{}                         // one slot
	pending atomic.Uint64                         // a signals.Set, without stop signals
	last    unix.Signal                           // the last pending signal that was taken: each has its turn
}

// New returns a queue without a subscription.
func New() *Queue {
	q := &Queue{Stops: make(chan Arrival, 64), woken: make(chan struct{}, 1)}
	for sig := range q.slots {
		q.slots[sig] = make(chan os.Signal, 1)
	}
	return q
}

// Open returns a queue that receives TERM and INT, which may come at once.
func Open() *Queue {
	q := New()
	q.subscribe([]unix.Signal{unix.SIGTERM, unix.SIGINT})
	return q
}

// early are the signals that people, platforms and workers send at once, and ABRT, which ends
// drainit as long as it is not subscribed to.
var early = []unix.Signal{
	unix.SIGHUP, unix.SIGQUIT, unix.SIGABRT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH,
	unix.SIGTSTP, unix.SIGCONT,
}

// Subscribe adds the stop signals, the early ones and the named ones, and starts the pump. From then on
// drainit ignores a SEGV, or another fault, that a process sends by kill(2). Without a subscription the Go
// runtime would end drainit, as after a fault of its own; it still does if the fault is sent by sigqueue(3)
// (runtime/os_linux.go, sigFromUser).
func (q *Queue) Subscribe(stops, named []unix.Signal) {
	q.stops = signals.SetOf(stops...)
	go q.pump()
	q.subscribe(slices.Concat(stops, early, named))
	ignored := make(chan os.Signal, 1)
	for _, fault := range signals.Faults() {
		signal.Notify(ignored, fault)
	}
}

// SubscribeRest adds all others. The Go runtime has no handler for 32 and 34, which would end a drainit that
// is not PID 1. So they are ignored from here on, and a child started later would inherit that.
func (q *Queue) SubscribeRest() {
	for _, sig := range []unix.Signal{32, 34} {
		_, _ = SetAction(sig, Ignore)
	}
	q.subscribe(append(signals.All(), unix.SIGCHLD))
	q.Put(unix.SIGCHLD) // a child may have ended already
}

// subscribe adds those of these signals that can be received: CHLD, and the signals that can be rewritten. A
// fault is among these only if it is rewritten. A HUP that is ignored at the start, as by nohup(1),
// stays ignored, for the worker, too.
func (q *Queue) subscribe(these []unix.Signal) {
	var done sync.WaitGroup
	done.Go(func() { // on the locked main thread, each call would take longer
		for _, sig := range these {
			switch {
			case sig == unix.SIGHUP && signal.Ignored(sig):
			case sig == unix.SIGCHLD, signals.Rewritable(sig):
				signal.Notify(q.slots[sig], sig)
			}
		}
	})
	done.Wait()
}

// Put makes a signal pending, other than a stop signal. A signal that is put twice is pending once, as in the
// kernel.
func (q *Queue) Put(sig unix.Signal) {
	q.pending.Or(uint64(signals.SetOf(sig)))
	q.Wake()
}

// withdraw removes a pending signal, and reports whether it was pending.
func (q *Queue) withdraw(sig unix.Signal) bool {
	this := signals.SetOf(sig)
	return signals.Set(q.pending.And(^uint64(this)))&this != 0
}

// Pending returns the pending signals.
func (q *Queue) Pending() signals.Set { return signals.Set(q.pending.Load()) }

// Take takes a pending signal that is not in waiting, the set of signals that wait. ok is false if there is
// none. It is for the loop alone.
func (q *Queue) Take(waiting signals.Set) (sig unix.Signal, ok bool) {
	for !ok { // the pump may withdraw one meanwhile
		these := q.Pending() &^ waiting
		if these == 0 {
			return 0, false
		}
		sig = these.Next(q.last)
		ok = q.withdraw(sig)
	}
	if waiting == 0 { // else the waiting ones would lose their turns
		q.last = sig
	}
	return sig, true
}

// Arrive adds a stop signal. In a flood it drops those for which Stops has no room: they would ask for the
// same. The last place is that of ForceStop, which asks for more.
func (q *Queue) Arrive(a Arrival) {
	if a.Signal != signals.ForceStop && len(q.Stops) == cap(q.Stops)-1 {
		return
	}
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

// Wake ends the Sleep of the loop, or makes the next one return at once. What the loop is to find must be
// stored before.
func (q *Queue) Wake() {
	select {
	case q.woken <- struct{}{}:
	default:
	}
}

// Sleep returns once Wake has been called since the last Sleep. If limited is true, it returns at the time
// until at the latest.
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
