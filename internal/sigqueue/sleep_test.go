package sigqueue

import (
	"os"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"drainit/reaper"
)

// sleeps are the two ways in which a loop sleeps: the test runs in both, on a locked thread.
// In the second, time is real.
func sleeps(t *testing.T, test func(t *testing.T, q *Queue)) {
	t.Run("on a channel", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, New()) })
	})
	t.Run("on a thread", func(t *testing.T) {
		runtime.LockOSThread() // it ends with the test
		q := New()
		q.pending[unix.SIGUSR1] = make(chan os.Signal, 1)
		q.SleepOnThread()
		if q.sleep.thread.Load() != int32(unix.Gettid()) {
			t.Fatal("it does not sleep on the thread")
		}
		test(t, q)
	})
}

// long is longer than any of these sleeps takes.
const long = time.Minute

// slept is how long a sleep took that what came keeps from its limit.
func slept(t *testing.T, q *Queue, news uint64) {
	t.Helper()
	begin := time.Now()
	q.Sleep(news, begin.Add(long), true)
	if took := time.Since(begin); took >= long {
		t.Errorf("it slept for %v", took)
	}
}

func TestSleepEndsAtItsTime(t *testing.T) {
	sleeps(t, func(t *testing.T, q *Queue) {
		const short = 20 * time.Millisecond
		begin := time.Now()
		for time.Since(begin) < short { // what came before may end a sleep
			q.Sleep(q.News(), begin.Add(short), true)
		}
		q.Sleep(q.News(), begin, true) // it is past
		if got := taken(q); len(got) > 0 {
			t.Errorf("%v was taken", got)
		}
	})
}

// What comes during a sleep ends it, limited or not, and as often as it happens.
func TestNewsEndASleep(t *testing.T) {
	sleeps(t, func(t *testing.T, q *Queue) {
		for range 100 {
			news := q.News()
			go q.Put(unix.SIGHUP)
			for q.News() == news {
				q.Sleep(news, time.Time{}, false)
			}
			if got := taken(q); !slices.Equal(got, []unix.Signal{unix.SIGHUP}) {
				t.Fatalf("%v was taken", got)
			}
		}
	})
}

// What came before, behind the look at what there is, keeps the loop from its sleep.
func TestNewsKeepFromASleep(t *testing.T) {
	sleeps(t, func(t *testing.T, q *Queue) {
		news := q.News()
		q.Wake()
		slept(t, q, news)
		q.Arrive(Arrival{Signal: unix.SIGTERM})
		slept(t, q, news)
	})
}

// To be woken is no child's end.
func TestWakeIsNoChild(t *testing.T) {
	sleeps(t, func(t *testing.T, q *Queue) {
		for range 100 {
			news := q.News()
			go q.Wake()
			for q.News() == news {
				q.Sleep(news, time.Time{}, false)
			}
		}
		if got := taken(q); len(got) > 0 {
			t.Errorf("%v was taken", got)
		}
	})
}

// A signal comes to the thread that sleeps, and to no handler.
func TestSignalEndsASleepOnTheThread(t *testing.T) {
	runtime.LockOSThread() // it ends with the test
	q := New()
	q.pending[unix.SIGUSR1] = make(chan os.Signal, 1)
	q.SleepOnThread()
	tid := unix.Gettid()
	for range 100 {
		news := q.News()
		sent := make(chan error, 1)
		go func() { sent <- reaper.SignalThread(tid, unix.SIGUSR1) }()
		for got := taken(q); !slices.Equal(got, []unix.Signal{unix.SIGUSR1}); got = taken(q) {
			if len(got) > 0 {
				t.Fatalf("%v was taken", got)
			}
			slept(t, q, news)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
	}
	if q.News() != 0 {
		t.Errorf("%d came by way of a handler", q.News())
	}
}

// Where the kernel does not let the thread sleep so, the loop sleeps as before, and nothing
// stays blocked.
func TestSleepWithoutTheThread(t *testing.T) {
	runtime.LockOSThread() // it ends with the test
	q := New()
	q.SleepOnThread()
	q.leaveThread()
	var blocked unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, nil, &blocked); err != nil || blocked.Val[0] != 0 {
		t.Errorf("%#x is blocked, %v", blocked.Val[0], err)
	}
	for range 100 {
		news := q.News()
		go q.Put(unix.SIGHUP)
		for q.News() == news {
			q.Sleep(news, time.Time{}, false)
		}
	}
	if got := taken(q); !slices.Equal(got, []unix.Signal{unix.SIGHUP}) {
		t.Errorf("%v was taken", got)
	}
}
