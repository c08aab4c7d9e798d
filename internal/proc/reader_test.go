package proc

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hanging are pipes by pid, to which nothing is written: a read of one hangs, until it is released.
type hanging map[int][2]*os.File

func newHanging(t *testing.T, pids ...int) hanging {
	t.Helper()
	h := make(hanging)
	for _, pid := range pids {
		r, w := pipe(t)
		h[pid] = [2]*os.File{r, w}
	}
	return h
}

// read hangs where there is a pipe for a process.
func (h hanging) read(pid int) {
	if ends, ok := h[pid]; ok {
		_, _ = unix.Read(int(ends[0].Fd()), make([]byte, 1))
	}
}

func (h hanging) release(pid int) { h[pid][1].Close() }

// take is a snapshot of these processes. It hangs at the stat of each for which there is a pipe.
func (h hanging) take(r *Reader, pids []int) (*Snapshot, error) {
	return beside(r, func(g *reading) (*Snapshot, error) {
		for _, pid := range pids {
			if g.reads(pid, stat) {
				h.read(pid)
			}
		}
		return g.readEach(pids)
	})
}

// waitFor waits until a snapshot of these shows those.
func (h hanging) waitFor(t *testing.T, r *Reader, these, those []int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		s, err := h.take(r, these)
		if err == nil && slices.Equal(pidsOf(s.All()), those) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v are shown, want %v: %v", pidsOf(s.All()), those, err)
		}
	}
}

// sleepers are processes of which each is the child of the test.
func sleepers(t *testing.T, n int) (pids []int) {
	t.Helper()
	for range n {
		pids = append(pids, sleeper(t))
	}
	slices.Sort(pids)
	return pids
}

// As soon as one is known to hang it costs no time, and when it is back it is read again.
func TestProcessThatHangsIsLeftOutUntilItIsBack(t *testing.T) {
	pids := sleepers(t, 3)
	h := newHanging(t, pids[1])
	var r Reader
	for range 3 {
		s, err := h.take(&r, pids)
		must(t, err)
		if got, want := pidsOf(s.All()), []int{pids[0], pids[2]}; !slices.Equal(got, want) {
			t.Fatalf("%v are shown, want %v", got, want)
		}
		if got := pidsOf(s.Hanging(os.Getpid())); !slices.Equal(got, pids[1:2]) {
			t.Fatalf("%v hang, want %v", got, pids[1:2])
		}
		if len(r.hung) != 1 {
			t.Fatalf("%d threads hang, want one", len(r.hung))
		}
	}
	if _, err := r.Read(pids[1]); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("the one that hangs is read: %v, want %v", err, ErrNoAnswer)
	}
	if p, err := r.Read(pids[0]); err != nil || p.PID != pids[0] {
		t.Errorf("another one is not read: %v", err)
	}
	h.release(pids[1])
	h.waitFor(t, &r, pids, pids)
	if len(r.hung) != 0 {
		t.Errorf("%d threads hang", len(r.hung))
	}
}

// Each takes a thread, of which there are only so many.
func TestTooManyThatHangEndAllReadsUntilOneIsBack(t *testing.T) {
	pids := sleepers(t, MostHung+1)
	h := newHanging(t, pids[:MostHung]...)
	var r Reader
	for range 2 {
		if s, err := h.take(&r, pids); !errors.Is(err, ErrNoAnswer) {
			t.Fatalf("%v, %v, want %v", s, err, ErrNoAnswer)
		}
	}
	if len(r.hung) != MostHung {
		t.Fatalf("%d threads hang, want %d", len(r.hung), MostHung)
	}
	h.release(pids[0])
	h.waitFor(t, &r, pids, []int{pids[0], pids[MostHung]})
}

// What was given up ends when it comes back.
func TestReadingThatWasGivenUpReadsNothingMore(t *testing.T) {
	pids := sleepers(t, 1)
	h := newHanging(t, pids[0])
	went := false
	var r Reader
	_, err := beside(&r, func(g *reading) (none int, _ error) {
		if g.reads(pids[0], details) {
			h.read(pids[0])
			g.reads(pids[0], details)
			went = true
		}
		return none, nil
	})
	must(t, err)
	given := r.hung[0]
	h.release(pids[0])
	<-given.done
	if went {
		t.Error("a reading that was given up goes on")
	}
}

// A thread that has work to do is no thread that hangs, however long that takes, and neither is
// one that sleeps for a moment.
func TestSlowReadIsWaitedFor(t *testing.T) {
	var r Reader
	const long = 2 * looksMost * looksApart
	for name, work := range map[string]func(){
		"works":  func() { _, _ = readSmall("/proc/self/stat") },
		"sleeps": func() { time.Sleep(time.Millisecond) },
	} {
		done, err := beside(&r, func(g *reading) (bool, error) {
			g.reads(1, stat)
			for began := time.Now(); time.Since(began) < long; {
				work()
			}
			return true, nil
		})
		if err != nil || !done {
			t.Errorf("one that %s was given up: %v", name, err)
		}
	}
}
