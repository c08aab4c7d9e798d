package sigqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// What comes before a sleep or in it ends it; what is limited ends at its time.
func TestSleep(t *testing.T) {
	const long = time.Hour
	for name, come := range map[string]func(q *Queue){
		"a signal":      func(q *Queue) { q.Put(unix.SIGHUP) },
		"a stop signal": func(q *Queue) { q.Arrive(Arrival{Signal: unix.SIGTERM}) },
		"news":          (*Queue).Wake,
	} {
		for _, after := range []time.Duration{0, time.Second} {
			synctest.Test(t, func(t *testing.T) {
				q, began := New(), time.Now()
				if after == 0 {
					come(q)
				} else {
					time.AfterFunc(after, func() { come(q) })
				}
				q.Sleep(began.Add(long), true)
				if took := time.Since(began); took != after {
					t.Errorf("%s after %v: it slept for %v", name, after, took)
				}
				q.Sleep(began.Add(long), true)
				if took := time.Since(began); took != long {
					t.Errorf("%s: the next one ends after %v", name, took)
				}
			})
		}
	}
}
