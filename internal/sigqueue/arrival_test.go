package sigqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// apart is how old a stop signal is when it is looked whether another waits.
const apart = 100 * time.Millisecond

// arrivals has stop signals come at these times, and returns what the loop learns of them.
func arrivals(t *testing.T, come func(q *Queue)) (all []Arrival) {
	t.Helper()
	q := New()
	q.onTheWay = func(l *look) bool { l.began = time.Now(); return false } // no real signal comes
	go q.stampStops(apart)
	come(q)
	time.Sleep(time.Second)
	synctest.Wait()
	for len(q.Stops) > 0 {
		all = append(all, <-q.Stops)
	}
	close(q.came) // the goroutine would outlive the bubble
	synctest.Wait()
	return all
}

func (q *Queue) comes(after time.Duration) {
	time.Sleep(after)
	q.came <- unix.SIGTERM
	synctest.Wait()
}

// A signal can have come with the one before it as long as it was not looked since whether
// any waits, which is once that one is old.
func TestEarliestTimeOfASecondSignal(t *testing.T) {
	for after, same := range map[time.Duration]bool{0: true, apart - 1: true, apart + 1: false, time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			all := arrivals(t, func(q *Queue) { q.comes(time.Minute); q.comes(after) })
			if len(all) != 2 || all[1].At.Sub(all[0].At) != after {
				t.Fatalf("%v later: %v", after, all)
			}
			if got := all[1].Earliest.Sub(all[0].At) < apart; got != same {
				t.Errorf("%v later: may have come with the first: %v, want %v", after, got, same)
			}
		})
	}
}

// One that is handed over during that look came before it, as far as can be known.
func TestEarliestTimeOfASignalDuringTheLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		all := arrivals(t, func(q *Queue) {
			q.onTheWay = func(l *look) bool {
				if looks++; looks == 1 {
					q.came <- unix.SIGTERM
				}
				l.began = time.Now()
				return false
			}
			q.comes(time.Minute)
		})
		if len(all) != 2 || looks < 2 {
			t.Fatalf("%v after %d looks", all, looks)
		}
		if all[1].Earliest.Sub(all[0].At) >= apart {
			t.Errorf("it came %v after the first, at the earliest", all[1].Earliest.Sub(all[0].At))
		}
	})
}

// A thread that was awake at the look is through with a handler when it has run for longer than
// that takes, or has slept more than once.
func TestThreadIsThroughWithItsHandler(t *testing.T) {
	before := progress{time.Second, 7}
	if (progress{time.Second, 9}).isThrough(progress{time.Second, 0}) {
		t.Error("one of which it was not known how often it had slept counts as through")
	}
	for now, want := range map[progress]bool{
		before:                                  false,
		{time.Second + 200*time.Microsecond, 7}: false,
		{time.Second + 200*time.Microsecond + 1, 7}: true,
		{time.Second, 8}: false,
		{time.Second, 9}: true,
	} {
		if now.isThrough(before) != want {
			t.Errorf("%+v behind %+v: want %v", now, before, want)
		}
	}
}

// A flood does not keep off that look.
func TestEarliestTimeInAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := arrivals(t, func(q *Queue) {
			for range 64 {
				q.comes(10 * time.Millisecond)
			}
		})
		if last := all[len(all)-1]; len(all) != 64 || last.Earliest.Sub(all[0].At) < apart {
			t.Errorf("the last of %d came %v after the first, at the earliest", len(all), last.Earliest.Sub(all[0].At))
		}
	})
}

// Behind another signal that counted as a stop signal, too.
func TestEarliestTimeBehindAnotherSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hungUp time.Time
		all := arrivals(t, func(q *Queue) {
			time.Sleep(time.Minute)
			hungUp = time.Now()
			q.Stopped()
			q.comes(time.Second)
		})
		if len(all) != 1 || all[0].Earliest.Sub(hungUp) < apart {
			t.Errorf("%v, and the other at %v", all, hungUp)
		}
	})
}
