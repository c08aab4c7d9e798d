package sigqueue

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// taken is all that the loop would take.
func taken(q *Queue) (all []unix.Signal) {
	for sig, ok := q.Take(0); ok; sig, ok = q.Take(0) {
		all = append(all, sig)
	}
	return all
}

// A signal that comes again before it is taken is the same.
func TestSignalsAreTakenOnce(t *testing.T) {
	q := New()
	for range 3 {
		q.Put(unix.SIGUSR1)
		q.Put(unix.Signal(64))
		q.Put(unix.SIGHUP)
	}
	if got, want := taken(q), []unix.Signal{unix.SIGHUP, unix.SIGUSR1, 64}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// One that comes all the time keeps back no other.
func TestEachSignalHasItsTurn(t *testing.T) {
	q := New()
	q.Put(unix.SIGUSR2)
	for turn := 1; ; turn++ {
		q.Put(unix.SIGHUP)
		if sig, ok := q.Take(0); sig == unix.SIGUSR2 {
			return
		} else if !ok || turn == 2 {
			t.Fatalf("in turn %d %v was taken", turn, sig)
		}
	}
}

// Of a quiet and a resume that wait, the last one counts.
func TestWithdrawnSignalIsNotTaken(t *testing.T) {
	q := New()
	q.Put(unix.SIGTSTP)
	q.Put(unix.SIGUSR1)
	q.withdraw(unix.SIGTSTP)
	if got, want := taken(q), []unix.Signal{unix.SIGUSR1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// One that waits is not taken, and keeps back no other.
func TestWaitingSignalIsNotTaken(t *testing.T) {
	q := New()
	q.Put(unix.SIGUSR1)
	q.Put(unix.SIGHUP)
	waiting := signals.SetOf(unix.SIGHUP, unix.SIGUSR2)
	if sig, ok := q.Take(waiting); !ok || sig != unix.SIGUSR1 {
		t.Errorf("%v was taken", sig)
	}
	if sig, ok := q.Take(waiting); ok || q.Pending() == 0 {
		t.Errorf("%v was taken", sig)
	}
	if got := taken(q); !slices.Equal(got, []unix.Signal{unix.SIGHUP}) || q.Pending() != 0 {
		t.Errorf("%v was taken", got)
	}
}
