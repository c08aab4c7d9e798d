package sigqueue

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
	"drainit/reaper"
)

// sleep is how the loop waits while there is nothing to take.
type sleep struct {
	news   atomic.Uint64 // how often Wake was called
	asleep atomic.Bool   // the loop sleeps, or is about to
	woken  chan struct{} // one slot
	thread atomic.Int32  // of the loop, where it sleeps in sigtimedwait, or 0
	direct unix.Sigset_t // what comes to it there without a detour
}

// Wake ends the loop's sleep, or keeps it from the next one. It must be called behind
// whatever the loop is to find.
//
// On a thread it is a CHLD for that thread, which blocks it, so that it stays pending until
// the loop sleeps; by its code it differs from the kernel's own.
func (q *Queue) Wake() {
	q.sleep.news.Add(1)
	if !q.sleep.asleep.Swap(false) {
		return
	}
	if tid := int(q.sleep.thread.Load()); tid != 0 {
		if reaper.SignalThread(tid, unix.SIGCHLD) != nil { // for the moment: see SleepOnThread
			_ = reaper.SignalThread(tid, unix.SIGCHLD)
		}
		return
	}
	select {
	case q.sleep.woken <- struct{}{}:
	default:
	}
}

// News is how much has come. The loop asks it before it looks what there is to take.
func (q *Queue) News() uint64 { return q.sleep.news.Load() }

// Sleep returns when more has come than News said, when there is something to Take, or, where
// that is limited, at a time. It may return without any.
func (q *Queue) Sleep(news uint64, until time.Time, limited bool) {
	q.sleep.asleep.Store(true)
	defer q.sleep.asleep.Store(false)
	if q.sleep.news.Load() != news {
		return
	}
	if q.sleep.thread.Load() != 0 {
		q.sleepOnThread(until, limited)
		return
	}
	var over <-chan time.Time
	if limited {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-q.sleep.woken:
	case <-over:
	}
}

// SleepOnThread has the loop sleep in sigtimedwait(2) from now on, behind WaitForEarly. It must
// be called on the locked main thread, which must not fork any longer.
//
// A signal that the Go runtime handles is handed over between four threads until the loop has
// it. But the kernel gives one to the main thread first, if that waits for it. Only while the
// loop has something else to do, such a signal comes by way of the runtime, for the main
// thread blocks it then. The stop signals always do, with the time at which they came.
//
// Where this is not permitted, or the thread can't be woken so, the loop sleeps as before.
func (q *Queue) SleepOnThread() {
	direct := []unix.Signal{unix.SIGCHLD}
	for _, sig := range early {
		drainitsEnd := sig == unix.SIGINT // term.EndByInterrupt
		if q.pending[sig] != nil && !q.stops.Has(sig) && !drainitsEnd {
			direct = append(direct, sig)
		}
	}
	q.sleep.direct = signals.Mask(direct...)
	if unix.PthreadSigmask(unix.SIG_BLOCK, &q.sleep.direct, nil) != nil {
		return
	}
	tid := unix.Gettid()
	if reaper.SignalThread(tid, unix.SIGCHLD) != nil {
		q.leaveThread()
		return
	}
	if woken, _ := q.sleepUntilSignal(0); !woken { // a thread's own signals come first
		q.leaveThread()
		return
	}
	q.sleep.thread.Store(int32(tid))
}

func (q *Queue) leaveThread() {
	q.sleep.thread.Store(0)
	_ = unix.PthreadSigmask(unix.SIG_UNBLOCK, &q.sleep.direct, nil)
}

func (q *Queue) sleepOnThread(until time.Time, limited bool) {
	atMost := time.Duration(-1)
	if limited {
		atMost = max(time.Until(until), 0)
	}
	switch _, err := q.sleepUntilSignal(atMost); err {
	case nil, unix.EAGAIN, unix.EINTR: // it is time, or a handler has run
	default:
		q.leaveThread()
	}
}

// sleepUntilSignal puts the signal that comes, unless it is that by which the loop is woken. It
// waits for as long as that takes where atMost is negative. The error is EAGAIN where none has
// come in time, or that of sigtimedwait(2).
func (q *Queue) sleepUntilSignal(atMost time.Duration) (woken bool, err error) {
	const (
		longest    = 24 * time.Hour // a 32-bit number of seconds is enough
		siTkill    = -6             // <asm-generic/siginfo.h>
		sigsetSize = 8
	)
	var timeout *unix.Timespec
	if atMost >= 0 {
		t := unix.NsecToTimespec(int64(min(atMost, longest)))
		timeout = &t
	}
	var info unix.Siginfo
	sig, _, errno := unix.Syscall6(unix.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&q.sleep.direct)),
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(timeout)), sigsetSize, 0, 0)
	if errno != 0 {
		return false, errno
	}
	if sig := unix.Signal(sig); sig != unix.SIGCHLD || info.Code != siTkill {
		q.others.add(sig)
		return false, nil
	}
	return true, nil
}
