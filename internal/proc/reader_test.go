package proc

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hanging are fifos without a writer, in place of files of processes: a read of one hangs.
type hanging struct {
	t   *testing.T
	dir string
}

func newHanging(t *testing.T, pids ...int) hanging {
	t.Helper()
	h := hanging{t, t.TempDir()}
	for _, pid := range pids {
		if err := unix.Mkfifo(h.file(pid), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.release(pid) })
	}
	return h
}

func (h hanging) file(pid int) string { return filepath.Join(h.dir, Label("stat", pid)) }

// release ends what hangs.
func (h hanging) release(pid int) {
	if w, err := os.OpenFile(h.file(pid), os.O_WRONLY|unix.O_NONBLOCK, 0); err == nil {
		w.Close()
	}
	_ = os.Remove(h.file(pid))
}

// take is a snapshot of these processes. It hangs at the stat of each for which there is a fifo.
func (h hanging) take(r *Reader, pids []int) (*Snapshot, error) {
	return beside(r, func(g *reading) (*Snapshot, error) {
		for _, pid := range pids {
			if g.reads(pid, stat) {
				_, _ = readSmall(h.file(pid))
			}
		}
		return g.readEach(pids)
	})
}

// sleepers are processes of which each is the child of the test.
func sleepers(t *testing.T, n int) (pids []int) {
	t.Helper()
	for range n {
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		pids = append(pids, cmd.Process.Pid)
	}
	slices.Sort(pids)
	return pids
}

func pidsOf(all []*Process) (pids []int) {
	for _, p := range all {
		pids = append(pids, p.PID)
	}
	return pids
}

// As soon as one is known to hang it costs no time, and when it is back it is read again.
func TestProcessThatHangsIsLeftOutUntilItIsBack(t *testing.T) {
	pids := sleepers(t, 3)
	h := newHanging(t, pids[1])
	var r Reader
	for range 3 {
		s, err := h.take(&r, pids)
		if err != nil {
			t.Fatal(err)
		}
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
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if p, err := r.Read(pids[1]); err == nil && p.PID == pids[1] {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("what was left out is not read when it is back")
		}
	}
	if s, err := h.take(&r, pids); err != nil || !slices.Equal(pidsOf(s.All()), pids) || len(r.hung) != 0 {
		t.Errorf("%v are shown, and %d threads hang: %v", pidsOf(s.All()), len(r.hung), err)
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
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		s, err := h.take(&r, pids)
		if want := []int{pids[0], pids[MostHung]}; err == nil && slices.Equal(pidsOf(s.All()), want) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v are shown when one is back: %v", pidsOf(s.All()), err)
		}
	}
}

// What was given up ends when it comes back.
func TestReadingThatWasGivenUpReadsNothingMore(t *testing.T) {
	pids := sleepers(t, 1)
	h := newHanging(t, pids[0])
	went := false
	var r Reader
	_, err := beside(&r, func(g *reading) (none int, _ error) {
		if !g.reads(pids[0], closely) {
			return
		}
		_, _ = readSmall(h.file(pids[0]))
		g.reads(pids[0], closely)
		went = true
		return
	})
	if err != nil {
		t.Fatal(err)
	}
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
