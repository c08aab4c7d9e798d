package supervisor

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/spawn"
	"drainit/reaper"
)

// Where a delivery of the real system goes, to a real child in a process group of its own: signal 0 asks
// without sending.
func TestRoutesOfDeliveries(t *testing.T) {
	if os.Getpid() == 1 {
		t.Skip("what is meant for the children of PID 1 would reach the whole namespace")
	}
	path, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("no program sleep")
	}
	sys := new(linux)
	pid, err := sys.Start(spawn.Config{Command: []string{path, "1000"}, OnTerminal: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := sys.Process(pid)
	if err != nil {
		t.Fatal(err)
	}
	other := p
	other.Start++
	for _, tt := range []struct {
		name string
		d    forward.Delivery
		want error
	}{
		{"a process", forward.Delivery{Process: p}, nil},
		{"another with its pid", forward.Delivery{Process: other}, reaper.ErrGone},
		{"a child, by its pid alone", forward.Delivery{Process: other, Child: true}, nil},
		{"a group", forward.Delivery{Target: forward.ToGroup, Process: p, PGID: p.PGID}, nil},
		{"a group that has gone", forward.Delivery{Target: forward.ToGroup, Process: p, PGID: firstPID}, reaper.ErrGone},
		{"a child that has left its group", forward.Delivery{Target: forward.ToGroup, Process: p, PGID: firstPID, Child: true}, nil},
	} {
		if err := sys.Send(tt.d); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	if sys.Send(forward.Delivery{Target: forward.ToNamespace}) == nil {
		t.Error("the namespace was signalled, though this is not PID 1")
	}
	if e, ok, err := sys.Wait(); ok || err != nil {
		t.Errorf("%+v, %v, while the child lives", e, err)
	}
	if err := sys.Send(forward.Delivery{Target: forward.ToTree, Process: p, Signal: unix.SIGKILL}); err != nil {
		t.Error(err)
	}
	for end := time.Now().Add(time.Minute); !sys.HasExited(pid) && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // its death is on its way
	}
	if e, ok, err := sys.Wait(); !ok || err != nil || e.PID != pid || e.TermSignal() != unix.SIGKILL {
		t.Errorf("%+v, %v, want %v killed", e, err, p)
	}
	if _, _, err := sys.Wait(); !errors.Is(err, reaper.ErrNoChildren) {
		t.Errorf("%v, want %v", err, reaper.ErrNoChildren)
	}
}
