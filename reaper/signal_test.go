package reaper

import (
	"errors"
	"os"
	"testing"

	"drainit/internal/proc"
)

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
