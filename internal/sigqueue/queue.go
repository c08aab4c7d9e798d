// Package sigqueue takes in the signals that come to drainit, so that none is lost and no
// flood of one pushes out another.
//
// It owns what drainit does about each signal: every os/signal subscription, and what
// goes around os/signal. It must never act upon a signal, and never block a sender.
package sigqueue

import (
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// Queue receives the signals. os/signal drops what its channel has no room for, so each
// signal has a slot of its own, as it has in the kernel. One goroutine takes them from there.
type Queue struct {
	Stops chan Arrival // the stop signals, in the order in which they came

	slots  [65]chan os.Signal // by signal
	stops  signals.Set        // the stop signals
	others others
	woken  chan struct{}  // one slot
	all    chan struct{}  // closed when nothing is missed
	own    chan os.Signal // what comes of drainit's own doing, and is not read
	held   bool           // the loop's own

	continued atomic.Uint64 // how often a CONT has come
	atQuiet   atomic.Uint64 // the same, when the last TSTP came
	awaited   atomic.Bool   // drainit stops itself, and the next CONT ends that
}

// New returns a queue that no signal comes to until it is subscribed.
func New() *Queue {
	q := &Queue{
		Stops: make(chan Arrival, stopsAtMost),
		woken: make(chan struct{}, 1),
		all:   make(chan struct{}),
		own:   make(chan os.Signal, 1),
	}
	for sig := range q.slots {
		q.slots[sig] = make(chan os.Signal, 1)
	}
	return q
}

// stopsAtMost wait at a time: what a flood of them pushes out would say the same.
const stopsAtMost = 64

// The subscriptions are made in three steps, for all of them would be the longest part of the
// start: Open, Subscribe before the worker, and the rest by Pump, after it. What is not
// subscribed to ends drainit by the runtime's doing, or is lost.

// early are the signals that people, platforms and workers send, beside those that drainit
// acts upon, and ABRT, which ends drainit as long as it is not subscribed to.
var early = []unix.Signal{
	unix.SIGHUP, unix.SIGQUIT, unix.SIGABRT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH, unix.SIGTSTP, unix.SIGCONT,
}

// Open begins with TERM and INT: each may come at once.
func Open() *Queue {
	q := New()
	q.subscribe([]unix.Signal{unix.SIGTERM, unix.SIGINT})
	return q
}

// Subscribe returns when none of the stop signals is lost that comes, none of those named,
// and none that a worker may send at once.
func (q *Queue) Subscribe(stops, named []unix.Signal) {
	q.stops = signals.SetOf(stops...)
	done := make(chan struct{})
	go func() { // on the locked main thread each would take longer
		defer close(done)
		q.subscribe(stops)
		q.subscribe(early)
		q.subscribe(named)
	}()
	<-done
}

// Pump begins, after Subscribe, to pass on the signals to the loop, and subscribes to every
// signal that is left but URG, which is the Go runtime's own, and those that IgnoreFaults is
// for. No process may be forked any longer.
func (q *Queue) Pump() {
	ignoreUndelivered()
	go q.pump()
	go func() {
		signal.Notify(q.slots[unix.SIGCHLD], unix.SIGCHLD)
		q.ChildPending() // one may have ended already
		q.SurvivePipe()
		q.subscribe(signals.All())
		// Likewise beyond the limit of a file's size, and so would its own use of processor time.
		signal.Notify(q.own, unix.SIGXFSZ, unix.SIGXCPU)
		close(q.all)
		q.Wake()
	}()
}

// All is closed when, after Pump, no signal that comes is lost.
func (q *Queue) All() <-chan struct{} { return q.all }

// SurvivePipe has a write to a standard error that is closed fail. Without a subscriber to
// PIPE, it would end drainit (package os/signal, "SIGPIPE").
func (q *Queue) SurvivePipe() { signal.Notify(q.own, unix.SIGPIPE) }

// subscribe to each of these that can be forwarded. A HUP that is ignored at the start, as by
// nohup(1), stays ignored, for the worker too. To subscribe once more changes nothing.
func (q *Queue) subscribe(these []unix.Signal) {
	for _, sig := range these {
		if signals.Forwardable(sig) && (sig != unix.SIGHUP || !signal.Ignored(sig)) {
			signal.Notify(q.slots[sig], sig)
		}
	}
}

// TakeEarly takes a stop signal that has come before Pump.
func (q *Queue) TakeEarly() (sig unix.Signal, ok bool) {
	runtime.Gosched() // one may be on its way through the runtime
	for these := q.stops; these != 0; these &^= signals.SetOf(sig) {
		sig = these.Next(0)
		select {
		case <-q.slots[sig]:
			return sig, true
		default:
		}
	}
	return 0, false
}

// Hold says whether a stop signal has been taken and not been acted upon yet.
func (q *Queue) Hold(held bool) { q.held = held }

// StopPending reports whether a stop signal waits to be acted upon.
func (q *Queue) StopPending() bool {
	pending := q.held || len(q.Stops) > 0
	for sig, slot := range q.slots {
		pending = pending || q.stops.Has(unix.Signal(sig)) && len(slot) > 0
	}
	return pending
}

// ChildPending has the loop wait for children once more.
func (q *Queue) ChildPending() { q.Put(unix.SIGCHLD) }

// Overtaken reports whether a CONT has come since the last TSTP.
func (q *Queue) Overtaken() bool {
	return q.continued.Load() != q.atQuiet.Load() || len(q.slots[unix.SIGCONT]) > 0
}

// Continued is how often a CONT has come.
func (q *Queue) Continued() uint64 { return q.continued.Load() }

// ContinuedAtQuiet is the same, when the last TSTP came.
func (q *Queue) ContinuedAtQuiet() uint64 { return q.atQuiet.Load() }

// AwaitContinue says whether the next CONT ends a stop of drainit's own, so that it need
// not settle first.
func (q *Queue) AwaitContinue(awaited bool) { q.awaited.Store(awaited) }
