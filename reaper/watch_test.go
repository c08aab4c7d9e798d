package reaper

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"drainit/internal/proc"
)

// sleeper starts a process that sleeps, and ends it at the end of the test.
func sleeper(t *testing.T) (id proc.ID, end func()) {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(end)
	p, err := new(proc.Reader).Read(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return p.ID, end
}

func wantDeath(t *testing.T, died <-chan int, want int) {
	t.Helper()
	select {
	case pid := <-died:
		if pid != want {
			t.Errorf("%d died, want %d", pid, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("that %d died is not said", want)
	}
}

func wantNone(t *testing.T, died <-chan int) {
	t.Helper()
	select {
	case pid := <-died:
		t.Errorf("%d died", pid)
	case <-time.After(50 * time.Millisecond):
	}
}

func TestEachDeathIsSaidOnce(t *testing.T) {
	w := Watcher{Wake: func() {}}
	died := make(chan int, Most)
	a, endA := sleeper(t)
	b, endB := sleeper(t)
	gone, end := sleeper(t)
	if end(); !w.Set([]proc.ID{a, b, gone}, died) {
		t.Fatal("they are not watched")
	}
	wantDeath(t, died, gone.PID)
	wantNone(t, died)
	endA()
	wantDeath(t, died, a.PID)
	if !w.Set([]proc.ID{b}, died) || len(w.watched) != 1 {
		t.Errorf("%d are watched, want 1", len(w.watched))
	}
	wantNone(t, died)
	endB()
	wantDeath(t, died, b.PID)
}

func TestWhatIsNoLongerWatchedIsNotSaid(t *testing.T) {
	w := Watcher{Wake: func() {}}
	died := make(chan int, Most)
	a, end := sleeper(t)
	before := descriptors(t)
	if !w.Set(nil, died) || descriptors(t) != before {
		t.Error("something was opened for nothing")
	}
	if !w.Set([]proc.ID{a}, died) || !w.Set(nil, died) {
		t.Fatal("it is not watched")
	}
	end()
	wantNone(t, died)
	if now := descriptors(t); now > before+2 { // the runtime's poller needs two
		t.Errorf("%d descriptors, %d before", now, before)
	}
}

func TestTooManyAreNotAllWatched(t *testing.T) {
	w := Watcher{Wake: func() {}}
	var these []proc.ID
	for range Most + 1 {
		id, _ := sleeper(t)
		these = append(these, id)
	}
	if w.Set(these, make(chan int, Most)) || len(w.watched) != Most {
		t.Errorf("of %d processes %d are watched, want %d and that it says so", len(these), len(w.watched), Most)
	}
}

// A want of descriptors is no failure but of the watch.
func TestNoDescriptorsAreLeft(t *testing.T) {
	w := Watcher{Wake: func() {}}
	one, _ := sleeper(t)
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Max: lim.Max}); err != nil {
		t.Fatal(err)
	}
	all := w.Set([]proc.ID{one}, make(chan int, Most))
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		t.Fatal(err)
	}
	if all {
		t.Error("it is watched without a descriptor")
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
