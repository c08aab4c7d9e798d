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
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// Queue receives the signals. os/signal drops what its channel has no room for, so each
// signal has a slot of its own, as it has in the kernel.
type Queue struct {
	Stops chan Arrival // the stop signals, in the order in which they came

	others   others
	sleep    sleep
	came     chan os.Signal     // the stop signals, before it is noted when
	stops    signals.Set        // which these are
	stopped  chan struct{}      // another has counted as one
	onTheWay func(*look) bool   // mayBeOnTheWay
	pending  [65]chan os.Signal // by signal, nil for those that are not forwarded
	asked    chan asked
	stopsIn  chan struct{} // closed when no stop signal is missed
	ready    chan struct{} // closed when nothing is missed that must be there before the worker
	goOn     chan struct{} // closed when the others may follow
	all      chan struct{} // closed when nothing is missed
	held     bool          // the loop's own
	putOff   putOff        // likewise

	own        chan os.Signal // what comes of drainit's own doing, and is not read
	tstp, cont chan os.Signal // one slot each
	continued  atomic.Uint64  // how often a CONT has come
	atQuiet    atomic.Uint64  // the same, when the last TSTP came
	awaited    atomic.Bool    // drainit stops itself, and the next CONT ends that
}

// New returns a queue that no signal comes to until it is subscribed.
func New() *Queue {
	q := &Queue{
		Stops:   make(chan Arrival, stopsAtMost),
		came:    make(chan os.Signal, stopsAtMost),
		asked:   make(chan asked, 1),
		stopsIn: make(chan struct{}),
		ready:   make(chan struct{}),
		goOn:    make(chan struct{}),
		all:     make(chan struct{}),
		stopped: make(chan struct{}, 1),
		own:     make(chan os.Signal, 1),
		tstp:    make(chan os.Signal, 1),
		cont:    make(chan os.Signal, 1),
	}
	q.onTheWay = q.mayBeOnTheWay
	q.sleep.woken = make(chan struct{}, 1)
	return q
}

// stopsAtMost wait at a time: what a flood of them pushes out would say the same.
const stopsAtMost = 64

// early are the signals that people, platforms and workers send, beside those that drainit
// acts upon, and ABRT, which ends drainit as long as it is not subscribed to.
var early = []unix.Signal{
	unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGABRT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH,
}

// Open begins to subscribe to every signal that can be handled but URG, which is the Go
// runtime's own, and those that IgnoreFaults is for. A HUP that is ignored at the start, as
// by nohup(1), stays ignored, for the worker too.
//
// Each subscription is two hand-overs to a thread of the runtime and back, and all of them
// would be the longest part of the start. So they go on beside what else there is to do:
// WaitForStops waits for the stop signals, and WaitForEarly for the others that must be there
// before the worker; the rest comes behind it.
func Open() *Queue {
	q := New()
	go q.subscribeAll()
	runtime.Gosched() // it has its turn at once, though there is one processor only
	return q
}

// TERM and INT are first: what is not subscribed to ends drainit by the runtime's doing, or
// is lost.
func (q *Queue) subscribeAll() {
	defer q.Wake() // behind the next
	defer close(q.all)
	q.subscribe([]unix.Signal{unix.SIGTERM, unix.SIGINT})
	asked := <-q.asked
	q.subscribe(asked.stops)
	for _, sig := range asked.stops {
		if q.pending[sig] != nil {
			q.stops |= signals.SetOf(sig)
			signal.Notify(q.came, sig)
		}
	}
	close(q.stopsIn)
	go q.stampStops(asked.old)
	q.subscribe(early)
	signal.Notify(q.tstp, unix.SIGTSTP)
	signal.Notify(q.cont, unix.SIGCONT)
	q.subscribe(asked.named)
	close(q.ready)
	<-q.goOn // it would take its time from the fork
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	go q.pumpBatch(batch{children})
	q.ChildPending() // one may have ended already
	q.SurvivePipe()
	q.subscribe(signals.All())
	// Likewise beyond the limit of a file's size, and so would its own use of processor time.
	signal.Notify(q.own, unix.SIGXFSZ, unix.SIGXCPU)
}

// SurvivePipe has a write to a standard error that is closed fail. Without a subscriber to
// PIPE, it would end drainit (package os/signal, "SIGPIPE").
func (q *Queue) SurvivePipe() { signal.Notify(q.own, unix.SIGPIPE) }

// subscribe gives a slot to each of these that can be forwarded and has none.
func (q *Queue) subscribe(these []unix.Signal) {
	for _, sig := range these {
		if !signals.Forwardable(sig) || sig == unix.SIGTSTP || sig == unix.SIGCONT || sig == unix.SIGHUP && signal.Ignored(sig) || q.pending[sig] != nil {
			continue
		}
		q.pending[sig] = make(chan os.Signal, 1)
		signal.Notify(q.pending[sig], sig)
		runtime.Gosched() // it held a lock that a signal on its way needs
	}
}

// asked is what WaitForStops was asked for.
type asked struct {
	stops, named []unix.Signal
	old          time.Duration
}

// WaitForStops returns when no stop signal that comes is lost. From then on they go to the
// loop with the time at which each came. A CONT that came after one may be faster, in the
// kernel as here: the machine waits with a resume. Once a stop signal is as old as this, one
// that comes is known to be later. Those named beside are for WaitForEarly.
func (q *Queue) WaitForStops(stops, named []unix.Signal, old time.Duration) {
	q.asked <- asked{stops, named, old}
	<-q.stopsIn
}

// WaitForEarly returns, behind WaitForStops, when no early signal that comes is lost and none
// of those named, which must be so before the worker starts: it may send one at once.
func (q *Queue) WaitForEarly() { <-q.ready }

// All is closed when, behind WaitForEarly, no signal that comes is lost.
func (q *Queue) All() <-chan struct{} { return q.all }

// TakeEarly takes one of these signals that has come before it is called.
func (q *Queue) TakeEarly(stops []unix.Signal) (sig unix.Signal, ok bool) {
	for _, sig := range stops {
		select {
		case <-q.pending[sig]:
			return sig, true
		default:
		}
	}
	return 0, false
}

// Pump begins, behind WaitForEarly, to pass on all but the stop signals, which have another way,
// from their slots to the loop, and to subscribe to those that are left. No process may be
// forked any longer.
func (q *Queue) Pump() {
	ignoreUndelivered()
	go q.pumpQuiet()
	now := signals.SetOf(early...)
	q.pump(now &^ q.stops)
	close(q.goOn)
	go func() {
		<-q.all
		q.pump(^now &^ q.stops)
	}()
}

// pump passes on those of these that have a slot.
func (q *Queue) pump(these signals.Set) {
	var b batch
	n := 0
	for sig, slot := range q.pending {
		if slot == nil || !these.Has(unix.Signal(sig)) {
			continue
		}
		b[n] = slot
		if n++; n == len(b) {
			go q.pumpBatch(b)
			b, n = batch{}, 0
		}
	}
	if n > 0 {
		go q.pumpBatch(b)
	}
}

// Hold says whether a stop signal has been taken and not been acted upon yet.
func (q *Queue) Hold(held bool) { q.held = held }

// StopPending reports whether a stop signal waits to be acted upon.
func (q *Queue) StopPending() bool { return q.held || len(q.came) > 0 || len(q.Stops) > 0 }

// ChildPending has the loop wait for children once more.
func (q *Queue) ChildPending() { q.Put(unix.SIGCHLD) }

// batch is some slots, of which any may be nil.
type batch [8]chan os.Signal

// pumpBatch ends with the process, as the subscriptions do.
func (q *Queue) pumpBatch(b batch) {
	for {
		var sig os.Signal
		select {
		case sig = <-b[0]:
		case sig = <-b[1]:
		case sig = <-b[2]:
		case sig = <-b[3]:
		case sig = <-b[4]:
		case sig = <-b[5]:
		case sig = <-b[6]:
		case sig = <-b[7]:
		}
		q.Put(sig.(unix.Signal))
	}
}

// pumpQuiet passes on TSTP and CONT, and of the two the last that came, as the kernel
// keeps only one of them pending (signal(7)). Which was the last is not certain where
// they come close together, for two threads may take them: that is then the CONT. A
// worker that loses a quiet drains at the next TERM; one that lost a resume would idle
// for good.
func (q *Queue) pumpQuiet() {
	const near = 5 * time.Millisecond
	var settled <-chan time.Time // until then a TSTP counts as before the CONT
	for {
		select {
		case <-q.tstp:
			if settled == nil {
				q.atQuiet.Store(q.continued.Load())
				q.others.withdraw(unix.SIGCONT)
				q.Put(unix.SIGTSTP)
			}
		case <-q.cont:
			q.continued.Add(1)
			settles := !q.awaited.Swap(false)
			if settled != nil {
				continue
			}
			q.others.withdraw(unix.SIGTSTP, unix.SIGCONT)
			if settles {
				settled = time.After(near)
			} else {
				q.Put(unix.SIGCONT)
			}
		case <-settled:
			settled = nil
			q.Put(unix.SIGCONT)
		}
	}
}

// Overtaken reports whether a CONT has come since the last TSTP.
func (q *Queue) Overtaken() bool {
	return q.continued.Load() != q.atQuiet.Load() || len(q.cont) > 0
}

// Continued is how often a CONT has come.
func (q *Queue) Continued() uint64 { return q.continued.Load() }

// ContinuedAtQuiet is the same, when the last TSTP came.
func (q *Queue) ContinuedAtQuiet() uint64 { return q.atQuiet.Load() }

// AwaitContinue says whether the next CONT ends a stop of drainit's own, so that it need
// not settle first.
func (q *Queue) AwaitContinue(awaited bool) { q.awaited.Store(awaited) }
