package watch

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
	p, err := proc.Read(cmd.Process.Pid)
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
	if !w.Set([]proc.ID{a, b}, died) {
		t.Fatal("they are not watched")
	}
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
	if !w.Set([]proc.ID{a}, died) || !w.Set(nil, died) {
		t.Fatal("it is not watched")
	}
	end()
	wantNone(t, died)
	// What the runtime's poller needs stays.
	if now := descriptors(t); now > before+2 {
		t.Errorf("%d descriptors, %d before", now, before)
	}
}

func TestWhatHasEndedBeforeIsSaid(t *testing.T) {
	w := Watcher{Wake: func() {}}
	died := make(chan int, Most)
	gone, end := sleeper(t)
	end()
	if !w.Set([]proc.ID{gone}, died) {
		t.Error("it is not known to have ended")
	}
	wantDeath(t, died, gone.PID)
}

func TestTooManyAreNotAllWatched(t *testing.T) {
	w := Watcher{Wake: func() {}}
	died := make(chan int, Most)
	one, _ := sleeper(t)
	these := []proc.ID{one}
	for range Most {
		id, _ := sleeper(t)
		these = append(these, id)
	}
	if w.Set(these, died) {
		t.Errorf("it says that all of %d are watched", len(these))
	}
	if len(w.watched) != Most {
		t.Errorf("%d are watched, want %d", len(w.watched), Most)
	}
}

// Nothing is opened before there is something to watch, and a want of descriptors is no
// failure but of the watch.
func TestNoDescriptorsAreLeft(t *testing.T) {
	w := Watcher{Wake: func() {}}
	before := descriptors(t)
	if !w.Set(nil, nil) || descriptors(t) != before {
		t.Error("something was opened for nothing")
	}
	one, _ := sleeper(t)
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		t.Fatal(err)
	}
	none := lim
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
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
