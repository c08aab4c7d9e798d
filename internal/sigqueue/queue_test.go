package sigqueue

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
	"drainit/internal/signals"
)

func taken(q *Queue) (all []unix.Signal) {
	for sig, ok := q.Take(0); ok; sig, ok = q.Take(0) {
		all = append(all, sig)
	}
	return all
}

// A signal that comes again before it is taken is the same. One that waits or was withdrawn is
// not taken, and keeps back no other.
func TestSignalsAreTakenOnce(t *testing.T) {
	q := New()
	for range 3 {
		for _, sig := range []unix.Signal{unix.SIGUSR1, 64, unix.SIGHUP, unix.SIGTSTP} {
			q.Put(sig)
		}
	}
	q.withdraw(unix.SIGTSTP)
	waiting := signals.SetOf(unix.SIGHUP, 64, unix.SIGUSR2)
	if sig, ok := q.Take(waiting); !ok || sig != unix.SIGUSR1 {
		t.Errorf("%v was taken", sig)
	}
	if sig, ok := q.Take(waiting); ok || q.Pending() != signals.SetOf(unix.SIGHUP, 64) {
		t.Errorf("%v was taken, and %x is pending", sig, q.Pending())
	}
	if got := taken(q); !slices.Equal(got, []unix.Signal{unix.SIGHUP, 64}) || q.Pending() != 0 {
		t.Errorf("%v was taken", got)
	}
}

// One that comes all the time keeps back no other.
func TestEachSignalHasItsTurn(t *testing.T) {
	q := New()
	q.Put(unix.SIGUSR2)
	var got []unix.Signal
	for range 3 {
		q.Put(unix.SIGHUP)
		sig, _ := q.Take(0)
		got = append(got, sig)
	}
	if want := []unix.Signal{unix.SIGHUP, unix.SIGUSR2, unix.SIGHUP}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

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
				for _, want := range []time.Duration{after, long} {
					if q.Sleep(began.Add(long), true); time.Since(began) != want {
						t.Errorf("%s after %v: it slept until %v, want %v", name, after, time.Since(began),
							want)
					}
				}
			})
		}
	}
}

// A signal can have come with the first one as long as the window of that is open: for 100 ms
// in which drainit has run in time, and for 0.8 s at most.
func TestEarliestTimeOfASecondSignal(t *testing.T) {
	first := time.Unix(1000, 0)
	for _, tt := range []struct {
		late time.Duration // each of the first few ticks
		few  int
		ends time.Duration // of the window
	}{
		{0, 0, 100 * time.Millisecond},
		{late, 3, 110 * time.Millisecond},
		{80 * time.Millisecond, 1, 200 * time.Millisecond},
		{80 * time.Millisecond, 3, 400 * time.Millisecond},
		{80 * time.Millisecond, 1000, widest},
	} {
		var w window
		now := first
		for n := 0; ; n++ {
			if a := w.arrival(unix.SIGINT, now); a != (Arrival{unix.SIGINT, first}) &&
				now.Sub(first) < widest {
				t.Errorf("%+v: after %v it can't have come with the first: %+v", tt, now.Sub(first), a)
			}
			now = now.Add(tick)
			if n < tt.few {
				now = now.Add(tt.late)
			}
			if w.isOver(now) {
				break
			}
		}
		if a := w.arrival(unix.SIGINT, now); now.Sub(first) != tt.ends || a != (Arrival{unix.SIGINT, now}) {
			t.Errorf("%+v: the window is over after %v, and then it is %+v", tt, now.Sub(first), a)
		}
	}
}

// The window is closed by a pump that has run on time, and not by its end alone. On a busy machine it
// may not have.
func TestWindowCloses(t *testing.T) {
	q := pumped(t)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(widest) {
		q.slots[unix.SIGTERM] <- unix.SIGTERM
		first := <-q.Stops
		time.Sleep(machine.SameRequest + 100*time.Millisecond)
		q.slots[unix.SIGTERM] <- unix.SIGTERM
		if second := <-q.Stops; second.Earliest.After(first.Earliest) {
			return
		}
	}
	t.Error("a second stop signal is never a request of its own before 0.8 s")
}

// pumped is a queue of this process's own, which gets real signals.
func pumped(t *testing.T) *Queue {
	t.Helper()
	q := Open()
	q.Subscribe([]unix.Signal{unix.SIGTERM, unix.SIGUSR2}, []unix.Signal{unix.SIGURG, unix.SIGIO})
	q.SubscribeRest()
	taken(q) // CHLD
	return q
}

func TestRealSignalsArePassedOn(t *testing.T) {
	q := pumped(t)
	for _, sig := range []unix.Signal{unix.SIGUSR1, unix.SIGIO, unix.SIGTSTP, unix.SIGCONT, 63,
		unix.SIGTERM, unix.SIGUSR2} {
		if err := unix.Kill(unix.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
		for q.Pending() == 0 && len(q.Stops) == 0 {
			q.Sleep(time.Time{}, false)
		}
		got := taken(q)
		if sig == unix.SIGTERM || sig == unix.SIGUSR2 {
			a := <-q.Stops
			if got = append(got, a.Signal); a.Earliest.IsZero() {
				t.Errorf("%+v", a)
			}
		}
		if !slices.Equal(got, []unix.Signal{sig}) {
			t.Errorf("%v was taken, want %v", got, sig)
		}
	}
}

// Of a TSTP and a CONT that are taken close together the CONT counts as the last.
func TestQuietAndResumeCloseTogether(t *testing.T) {
	for _, order := range [][]unix.Signal{{unix.SIGCONT, unix.SIGTSTP}, {unix.SIGTSTP, unix.SIGCONT}} {
		q := pumped(t)
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
	q := pumped(t)
	for _, sig := range []unix.Signal{unix.SIGTSTP, unix.SIGCONT} { // of which none is taken meanwhile
		q.slots[sig] <- sig
		for !q.Pending().Has(sig) {
			q.Sleep(time.Time{}, false)
		}
	}
	if got := taken(q); !slices.Equal(got, []unix.Signal{unix.SIGCONT}) {
		t.Errorf("%v was taken, want CONT alone", got)
	}
}

// A TERM that is taken close together with another stop signal goes first, whatever the kernel's order.
func TestTermGoesBeforeWhatComesTogetherWithIt(t *testing.T) {
	for range 4 { // what is taken first is chance
		q := pumped(t)
		q.slots[unix.SIGUSR2] <- unix.SIGUSR2
		q.slots[unix.SIGTERM] <- unix.SIGTERM
		first, second := <-q.Stops, <-q.Stops
		if first.Signal != unix.SIGTERM || second.Signal != unix.SIGUSR2 ||
			first.Earliest != second.Earliest {
			t.Errorf("%+v, %+v", first, second)
		}
	}
}

// A stop signal is pending from its slot on until it is taken; another never is.
func TestStopPending(t *testing.T) {
	q := New()
	q.stops = signals.SetOf(unix.SIGTERM, unix.SIGINT)
	for sig, want := range map[unix.Signal]bool{unix.SIGUSR1: false, unix.SIGTERM: true} {
		q.slots[sig] <- sig
		if q.StopPending() != want {
			t.Errorf("%v in its slot is pending: %v", sig, !want)
		}
		<-q.slots[sig]
	}
	q.Arrive(Arrival{Signal: unix.SIGINT})
	if !q.StopPending() {
		t.Error("it is not pending")
	}
	if <-q.Stops; q.StopPending() {
		t.Error("it is pending, and was taken")
	}
}

// A flood of stop signals has no room for more of the same, but for one that kills at once.
func TestForceStopIsNotLostInAFlood(t *testing.T) {
	q := New()
	for range 100 {
		q.Arrive(Arrival{Signal: unix.SIGTERM})
	}
	for range 2 {
		q.Arrive(Arrival{Signal: signals.ForceStop})
	}
	if len(q.Stops) != cap(q.Stops) {
		t.Errorf("%d wait, want %d", len(q.Stops), cap(q.Stops))
	}
	var last Arrival
	for len(q.Stops) > 0 {
		last = <-q.Stops
	}
	if last.Signal != signals.ForceStop {
		t.Errorf("the last is %v", last.Signal)
	}
}
