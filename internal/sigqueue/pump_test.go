package sigqueue

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// A signal can have come with the first one as long as the window of that is open: for 100 ms
// in which drainit has run in time, and for 0.8 s at most.
func TestEarliestTimeOfASecondSignal(t *testing.T) {
	first := time.Unix(1000, 0)
	for _, tt := range []struct {
		name string
		late time.Duration // each of the first few ticks
		few  int
		ends time.Duration // of the window
	}{
		{"in time", 0, 0, 100 * time.Millisecond},
		{"a little late", late, 3, 110 * time.Millisecond},
		{"late once", 80 * time.Millisecond, 1, 200 * time.Millisecond},
		{"late three times", 80 * time.Millisecond, 3, 400 * time.Millisecond},
		{"late all the time", 80 * time.Millisecond, 1000, widest},
	} {
		var w window
		if a := w.arrival(unix.SIGTERM, first); a != (Arrival{unix.SIGTERM, first, first}) {
			t.Errorf("%s: the first is %+v", tt.name, a)
		}
		now := first
		for n := 0; ; n++ {
			now = now.Add(tick)
			if n < tt.few {
				now = now.Add(tt.late)
			}
			if want := (Arrival{unix.SIGINT, now, first}); now.Sub(first) < widest && w.arrival(unix.SIGINT, now) != want {
				t.Errorf("%s: after %v it can't have come with the first", tt.name, now.Sub(first))
			}
			if w.isOver(now) {
				break
			}
		}
		if now.Sub(first) != tt.ends {
			t.Errorf("%s: the window is over after %v, want %v", tt.name, now.Sub(first), tt.ends)
		}
		if a := w.arrival(unix.SIGINT, now); a != (Arrival{unix.SIGINT, now, now}) {
			t.Errorf("%s: after the window it is %+v", tt.name, a)
		}
	}
}

// pumped is a queue of this process's own, which gets real signals.
func pumped(t *testing.T) *Queue {
	t.Helper()
	q := Open()
	q.Subscribe([]unix.Signal{unix.SIGTERM, unix.SIGUSR2}, []unix.Signal{unix.SIGURG, unix.SIGIO})
	q.SubscribeRest()
	return q
}

// send sends this process a signal, and waits until the loop would see it.
func send(t *testing.T, q *Queue, sig unix.Signal) {
	t.Helper()
	if err := unix.Kill(unix.Getpid(), sig); err != nil {
		t.Fatal(err)
	}
	for q.Pending() == 0 && len(q.Stops) == 0 {
		q.Sleep(time.Time{}, false)
	}
}

func TestRealSignalsArePassedOn(t *testing.T) {
	q := pumped(t)
	taken(q) // the look for children
	for _, sig := range []unix.Signal{unix.SIGUSR1, unix.SIGIO, unix.SIGTSTP, unix.SIGCONT, 64} {
		send(t, q, sig)
		if got := taken(q); len(got) != 1 || got[0] != sig {
			t.Errorf("%v was taken, want %v", got, sig)
		}
	}
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGUSR2} {
		send(t, q, sig)
		if a := <-q.Stops; a.Signal != sig || a.At.IsZero() || q.Pending() != 0 {
			t.Errorf("%+v, want %v", a, sig)
		}
	}
}

// Of a TSTP and a CONT that are taken close together the CONT counts as the last.
func TestQuietAndResumeCloseTogether(t *testing.T) {
	for _, order := range [][]unix.Signal{{unix.SIGCONT, unix.SIGTSTP}, {unix.SIGTSTP, unix.SIGCONT}} {
		q := pumped(t)
		taken(q)
		for _, sig := range order {
			q.slots[sig] <- sig
		}
		var got []unix.Signal
		for !slices.Contains(got, unix.SIGCONT) {
			q.Sleep(time.Time{}, false)
			got = append(got, taken(q)...)
		}
		if got[len(got)-1] != unix.SIGCONT || len(q.slots[unix.SIGTSTP]) > 0 {
			t.Errorf("%v: %v was taken, and the TSTP counts as the last", order, got)
		}
	}
}

// A stop signal is pending from its slot on until it is taken; another never is.
func TestStopPending(t *testing.T) {
	q := New()
	q.stops = signals.SetOf(unix.SIGTERM, unix.SIGINT)
	q.slots[unix.SIGUSR1] <- unix.SIGUSR1
	if q.StopPending() {
		t.Error("USR1 is no stop signal")
	}
	q.slots[unix.SIGTERM] <- unix.SIGTERM
	if !q.StopPending() {
		t.Error("it is not pending in its slot")
	}
	go q.pump()
	if a := <-q.Stops; a.Signal != unix.SIGTERM || q.StopPending() {
		t.Errorf("%+v was taken", a)
	}
	q.Arrive(Arrival{Signal: unix.SIGINT})
	if !q.StopPending() {
		t.Error("it is not pending")
	}
}
