package supervisor

import (
	"errors"
	"time"

	"drainit/forward"
	"drainit/internal/proc"
	"drainit/internal/sigqueue"
	"drainit/internal/spawn"
	"drainit/reaper"
)

// System is everything that the loop does to the outside, except drainit's own terminal, log and title. Most
// functions have the same name in package spawn, reaper or proc.
type System struct {
	Start         func(spawn.Config) (pid int, err error)
	Wait          func() (e reaper.WaitEvent, ok bool, err error)
	HasExited     func(pid int) bool
	Tree          func(root int, since *proc.Snapshot, within time.Duration) (*proc.Snapshot, error)
	All           func() (*proc.Snapshot, error)
	Process, Read func(pid int) (proc.Process, error)
	Send          func(forward.Delivery) error // reaper.ErrGone, that of a read of /proc, or that of kill(2)
	Watch         func(these []proc.ID) (all bool)
	Died          <-chan proc.ID // watched processes that have ended
	Ticks         func() uint64
}

// linux returns the System of a running drainit.
func linux(queue *sigqueue.Queue) System {
	r, w := &proc.Reader{Given: proc.OwnInput()}, reaper.NewWatcher(queue.Wake)
	return System{spawn.Start, reaper.Wait, reaper.HasExited, r.Tree, r.All, r.Process, r.Read,
		func(d forward.Delivery) error { return send(d, r) }, w.Set, w.Died, proc.Ticks}
}

func send(d forward.Delivery, r *proc.Reader) error {
	switch d.Target {
	case forward.ToTree:
		return reaper.KillTree(d.Process.PID, r)
	case forward.ToNamespace:
		return reaper.SignalNamespace(d.Signal)
	case forward.ToGroup:
		err := reaper.SignalGroup(d.PGID, d.Signal)
		if errors.Is(err, reaper.ErrGone) && d.Child { // it has left the group it was given
			return reaper.SignalChild(d.Process.PID, d.Signal)
		}
		return err
	}
	if d.Child {
		return reaper.SignalChild(d.Process.PID, d.Signal)
	}
	return reaper.Signal(d.Process.ID, d.Signal, r.Read)
}
