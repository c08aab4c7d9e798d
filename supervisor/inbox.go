package supervisor

import (
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// Inbox receives the signals that come to drainit. os/signal drops what its
// channel has no room for, so each signal has a slot of its own, as it has in
// the kernel: no flood of one can push out another.
type Inbox struct {
	slots [65]chan os.Signal // by signal, nil for those that are not passed on
	ready chan struct{}      // closed when nothing can be missed any more

	stops  chan os.Signal // the stop signals, in the order in which they came
	others chan unix.Signal
	child  chan os.Signal // SIGCHLD: one slot, a level and not a message

	tstp, cont chan os.Signal // one slot each
	continued  atomic.Uint64  // how often a CONT has come
	atQuiet    atomic.Uint64  // the same, when the last TSTP came
	awaited    atomic.Bool    // drainit stops itself, and the next CONT ends that
}

// OpenInbox begins to subscribe to every signal that can be caught but URG, which
// is the Go runtime's own. A HUP that is ignored at the start, as by nohup(1),
// stays ignored, for the worker too.
//
// Each subscription is two hand-overs to a thread of the runtime and back, which
// makes this the longest part of the start: it goes on behind what else there is
// to do before the worker, and wait waits for its end.
func OpenInbox() *Inbox {
	in := &Inbox{
		ready:  make(chan struct{}),
		stops:  make(chan os.Signal, 64), // what a flood of them pushes out would say the same
		others: make(chan unix.Signal),
		child:  make(chan os.Signal, 1),
		tstp:   make(chan os.Signal, 1),
		cont:   make(chan os.Signal, 1),
	}
	go in.subscribe()
	return in
}

func (in *Inbox) subscribe() {
	defer close(in.ready)
	// A signal ends drainit by the runtime's doing until it is subscribed to: these first.
	for _, sig := range append([]unix.Signal{unix.SIGTERM, unix.SIGINT}, signals.All()...) {
		if sig == unix.SIGTSTP || sig == unix.SIGCONT || sig == unix.SIGHUP && signal.Ignored(sig) || in.slots[sig] != nil {
			continue
		}
		in.slots[sig] = make(chan os.Signal, 1)
		signal.Notify(in.slots[sig], sig)
	}
	signal.Notify(in.child, unix.SIGCHLD)
	// Without a subscriber, a write to a closed stderr would end drainit.
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	signal.Notify(in.tstp, unix.SIGTSTP)
	signal.Notify(in.cont, unix.SIGCONT)
}

// wait returns when a signal that comes is not lost, which must be so before the
// worker starts: it may send one at once. From then on the stop signals go to the
// loop without a goroutine between, which could let a CONT pass that came after one;
// for what passes in the kernel there is resumeAfter.
func (in *Inbox) wait(stops []unix.Signal) {
	<-in.ready
	for _, sig := range stops {
		if in.slots[sig] != nil {
			signal.Notify(in.stops, sig)
		}
	}
}

// early takes one of these signals that has come before it is called.
func (in *Inbox) early(stops []unix.Signal) (sig unix.Signal, ok bool) {
	for _, sig := range stops {
		select {
		case <-in.slots[sig]:
			return sig, true
		default:
		}
	}
	return 0, false
}

// relay begins to pass on all but these, from the slots to the loop.
func (in *Inbox) relay(stops []unix.Signal) {
	for _, sig := range stops {
		in.slots[sig] = nil // it has another way
	}
	for first := 0; first < len(in.slots); first += len(group{}) {
		var g group
		if copy(g[:], in.slots[first:]); g != (group{}) {
			go in.relayGroup(g)
		}
	}
	go in.relayQuiet()
}

// group is some slots, of which any may be nil.
type group [8]chan os.Signal

// relayGroup ends with the process, as the subscriptions do.
func (in *Inbox) relayGroup(g group) {
	for {
		var sig os.Signal
		select {
		case sig = <-g[0]:
		case sig = <-g[1]:
		case sig = <-g[2]:
		case sig = <-g[3]:
		case sig = <-g[4]:
		case sig = <-g[5]:
		case sig = <-g[6]:
		case sig = <-g[7]:
		}
		in.others <- sig.(unix.Signal)
	}
}

// relayQuiet relays TSTP and CONT, and of the two the last that came, as the kernel
// keeps only one of them pending (signal(7)). Which was the last is not certain where
// they come close together, for two threads may take them: that is then the CONT. Who
// loses a quiet drains at the next TERM; who lost a resume would idle for good.
func (in *Inbox) relayQuiet() {
	const near = 5 * time.Millisecond
	var last unix.Signal         // that the loop has not taken
	var settled <-chan time.Time // until then a TSTP counts as before the CONT
	for {
		to := in.others
		if last == 0 || settled != nil {
			to = nil
		}
		select {
		case <-in.tstp:
			if settled == nil {
				in.atQuiet.Store(in.continued.Load())
				last = unix.SIGTSTP
			}
		case <-in.cont:
			in.continued.Add(1)
			last = unix.SIGCONT
			if !in.awaited.Swap(false) && settled == nil {
				settled = time.After(near)
			}
		case <-settled:
			settled = nil
		case to <- last:
			last = 0
		}
	}
}

// overtaken reports whether a CONT has come since the last TSTP.
func (in *Inbox) overtaken() bool {
	return in.continued.Load() != in.atQuiet.Load() || len(in.cont) > 0
}
