package supervisor

import (
	"errors"
	"time"

	"drainit/forward"
	"drainit/internal/proc"
	"drainit/internal/spawn"
	"drainit/reaper"
)

// System is everything that the loop does to the outside, except drainit's own terminal, log and title. Most
// of its functions have the same name in package spawn, reaper or proc. Watch is reaper.Watcher.Set.
type System interface {
	Start(spawn.Config) (pid int, err error)
	Wait() (e reaper.WaitEvent, ok bool, err error)
	HasExited(pid int) bool
	Tree(root int, since *proc.Snapshot, within time.Duration) (*proc.Snapshot, error)
	All() (*proc.Snapshot, error)
	Process(pid int) (proc.Process, error)
	Read(pid int) (proc.Process, error)
	Send(forward.Delivery) error // reaper.ErrGone, that of a read of /proc, or that of kill(2)
	Watch(ids []proc.ID) (all bool)
	Died() <-chan int // the pids of watched processes that have ended
	Ticks() uint64
}

// linux is the System of a running drainit.
type linux struct {
	proc.Reader
	watcher *reaper.Watcher
}

func (*linux) Start(cfg spawn.Config) (int, error)   { return spawn.Start(cfg) }
func (*linux) Wait() (reaper.WaitEvent, bool, error) { return reaper.Wait() }
func (*linux) HasExited(pid int) bool                { return reaper.HasExited(pid) }
func (l *linux) Watch(ids []proc.ID) bool            { return l.watcher.Set(ids) }
func (l *linux) Died() <-chan int                    { return l.watcher.Died }
func (*linux) Ticks() uint64                         { return proc.Ticks() }

func (l *linux) Send(d forward.Delivery) error {
	switch d.Target {
	case forward.ToTree:
		return reaper.KillTree(d.Process.PID, &l.Reader)
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
	return reaper.Signal(d.Process.ID, d.Signal, l.Read)
}
