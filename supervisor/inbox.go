package supervisor

import (
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
)

// Inbox receives the signals that come to drainit. os/signal drops what its
// channel has no room for, so each signal has a slot of its own, as it has in
// the kernel: no flood of one can push out another.
type Inbox struct {
	stops  chan unix.Signal // the stop signals
	others chan unix.Signal
	child  chan os.Signal // SIGCHLD: one slot, a level and not a message

	asked     atomic.Uint64  // how often a stop signal has come
	quiet     chan os.Signal // TSTP and CONT on their way
	continued atomic.Uint64  // how often a CONT has come
	atQuiet   atomic.Uint64  // the same, when the last TSTP came
}

// OpenInbox subscribes to every signal that can be caught but URG, which is the
// Go runtime's own. The stop signals are TERM, INT and those given. It must be
// called before the worker starts. A HUP that is ignored at the start, as by
// nohup(1), stays ignored, for the worker too.
func OpenInbox(stops []unix.Signal) *Inbox {
	in := &Inbox{
		stops:  make(chan unix.Signal),
		others: make(chan unix.Signal),
		child:  make(chan os.Signal, 1),
		quiet:  make(chan os.Signal, 256), // the kernel keeps only one of the two pending (signal(7))
	}
	stops = append([]unix.Signal{unix.SIGTERM, unix.SIGINT}, stops...)
	// Each subscription is two hand-overs to a thread of the runtime and back.
	// From the locked main thread they take twice as long: 1.5 ms for all.
	done := make(chan struct{})
	go func() { in.subscribe(stops); close(done) }()
	<-done
	return in
}

func (in *Inbox) subscribe(stops []unix.Signal) {
	signal.Notify(in.child, unix.SIGCHLD)
	// Without a subscriber, a write to a closed stderr would end drainit.
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	for _, sig := range forward.All() {
		if sig == unix.SIGTSTP || sig == unix.SIGCONT || sig == unix.SIGHUP && signal.Ignored(sig) {
			continue
		}
		if slices.Contains(stops, sig) {
			relay(in.stops, sig, &in.asked)
		} else {
			relay(in.others, sig, nil)
		}
	}
	in.relayQuiet()
}

// relayQuiet relays TSTP and CONT, of which it counts which came last. The Go
// runtime hands out the lower number first of what it has, CONT, so that a TSTP
// close behind it may have been the first, and is then taken for that. Who loses
// a quiet drains at the next TERM; who lost a resume would idle for good.
func (in *Inbox) relayQuiet() {
	slot := in.quiet
	signal.Notify(slot, unix.SIGTSTP, unix.SIGCONT)
	go func() {
		for sig := range slot {
			switch {
			case sig == unix.SIGTSTP:
				in.atQuiet.Store(in.continued.Load())
			case quietBehind(slot):
				in.atQuiet.Store(in.continued.Load())
				in.continued.Add(1)
				in.others <- unix.SIGTSTP
			default:
				in.continued.Add(1)
			}
			in.others <- sig.(unix.Signal)
		}
	}()
}

// overtaken reports whether a CONT has come since the last TSTP.
func (in *Inbox) overtaken() bool {
	return in.continued.Load() != in.atQuiet.Load() || len(in.quiet) > 0
}

// quietBehind reports whether a TSTP comes close behind a CONT, and takes it.
func quietBehind(slot <-chan os.Signal) (tstp bool) {
	const near = 200 * time.Microsecond
	settled := time.After(near)
	for {
		select {
		case sig := <-slot:
			tstp = tstp || sig == unix.SIGTSTP
			continue
		case <-settled:
		}
		return tstp || len(slot) > 0 && <-slot == unix.SIGTSTP
	}
}

// relay subscribes to a signal, with a slot of its own, counts it if there is a
// counter, and passes it on. It ends with the process, as the subscription does.
func relay(to chan<- unix.Signal, sig unix.Signal, count *atomic.Uint64) {
	slot := make(chan os.Signal, 1)
	signal.Notify(slot, sig)
	go func() {
		for range slot {
			if count != nil {
				count.Add(1)
			}
			to <- sig
		}
	}()
}
