package reaper

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// wantDeath waits for a death, or a moment for none: 0.
func wantDeath(t *testing.T, died <-chan proc.ID, want int) {
	t.Helper()
	within, got := 20*time.Second, proc.ID{}
	if want == 0 {
		within = 50 * time.Millisecond
	}
	select {
	case got = <-died:
	case <-time.After(within):
	}
	if got.PID != want {
		t.Fatalf("%v died, want %d", got, want)
	}
}

func TestEachDeathIsSaidOnce(t *testing.T) {
	w := NewWatcher(func() {})
	a, endA := sleeper(t)
	b, endB := sleeper(t)
	gone, end := sleeper(t)
	if end(); !w.Set([]proc.ID{a, b, gone}) {
		t.Fatal("they are not watched")
	}
	wantDeath(t, w.Died, gone.PID)
	wantDeath(t, w.Died, 0)
	endA()
	wantDeath(t, w.Died, a.PID)
	if !w.Set([]proc.ID{b}) || len(w.watched) != 1 {
		t.Errorf("%d are watched, want 1", len(w.watched))
	}
	wantDeath(t, w.Died, 0)
	endB()
	wantDeath(t, w.Died, b.PID)
}

func TestWhatIsNoLongerWatchedIsNotSaid(t *testing.T) {
	w := NewWatcher(func() {})
	a, end := sleeper(t)
	before := pidfds(t, a.PID)
	if !w.Set([]proc.ID{a}) || pidfds(t, a.PID) != before+1 || !w.Set(nil) {
		t.Fatal("it is not watched")
	}
	for pidfds(t, a.PID) != before { // a hang is go test's to end
		time.Sleep(time.Millisecond)
	}
	end()
	wantDeath(t, w.Died, 0)
}

func TestTooManyAreNotAllWatched(t *testing.T) {
	w := NewWatcher(func() {})
	var these []proc.ID
	for range Most + 1 {
		id, _ := sleeper(t)
		these = append(these, id)
	}
	if w.Set(these) || len(w.watched) != Most {
		t.Errorf("of %d processes %d are watched, want %d and that it says so", len(these), len(w.watched),
			Most)
	}
}

// A want of descriptors is no failure but of the watch.
func TestNoDescriptorsAreLeft(t *testing.T) {
	w := NewWatcher(func() {})
	one, _ := sleeper(t)
	var lim syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim)
	none := syscall.Rlimit{Max: lim.Max}
	err = errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none))
	watched := w.Set([]proc.ID{one})
	if err := errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lim)); err != nil || watched {
		t.Errorf("it is watched without a descriptor: %t, %v", watched, err)
	}
}

// What stays free is for others: near the limit no process is watched, and no try leaves a descriptor.
func TestFewDescriptorsAreLeft(t *testing.T) {
	w := NewWatcher(func() {})
	one, _ := sleeper(t)
	w.limit = Reserve // all are to stay free
	before := pidfds(t, one.PID)
	if w.Set([]proc.ID{one}) {
		t.Error("it is watched with a descriptor that is to stay free")
	}
	if now := pidfds(t, one.PID); now != before {
		t.Errorf("%d descriptors refer to it, %d before", now, before)
	}
}

// pidfds counts the descriptors that refer to a process.
func pidfds(t *testing.T, pid int) (n int) {
	t.Helper()
	all, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	for _, name := range all {
		text, _ := os.ReadFile(name) // "" for one that has been closed
		if strings.Contains(string(text), fmt.Sprintf("Pid:\t%d\n", pid)) {
			n++
		}
	}
	return n
}

// kill(2) takes 0, 1 and -1 for the caller's group, PID 1 and everything.
func TestNoPidBelowTwoIsSignalled(t *testing.T) {
	for _, pid := range []int{1, 0, -1, -7} {
		if SignalChild(pid, 0) == nil {
			t.Errorf("a child with pid %d was signalled", pid)
		}
		if SignalGroup(pid, 0) == nil {
			t.Errorf("a group %d was signalled", pid)
		}
		if Signal(proc.ID{PID: pid}, 0, new(proc.Reader).Read) == nil {
			t.Errorf("a process with pid %d was signalled", pid)
		}
	}
	if SignalNamespace(0) == nil {
		t.Error("everything was signalled though this is not PID 1")
	}
}

func TestSignalReachesThisProcessOrNone(t *testing.T) {
	me, err := new(proc.Reader).Read(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := Signal(me.ID, 0, new(proc.Reader).Read); err != nil {
		t.Errorf("cannot signal myself: %v", err)
	}
	recycled := me.ID
	recycled.Start++
	if err := Signal(recycled, 0, new(proc.Reader).Read); !errors.Is(err, ErrGone) {
		t.Errorf("another process with the same pid: %v, want %v", err, ErrGone)
	}
}
