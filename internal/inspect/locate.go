package inspect

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/logx"
	"drainit/internal/phase"
	"drainit/internal/proc"
	"drainit/internal/title"
	"drainit/reaper"
)

// instance is a running drainit, as /proc shows it to any user.
type instance struct {
	proc.Process
	descendants []proc.Process // the living ones
}

// locate finds the drainit that the caller means: the first process of the
// caller's container. That is PID 1, or where containers share a PID namespace
// (PID 1 is a pod's pause, a host's init, another container's drainit), the one
// in the caller's cgroups.
func locate() (instance, error) {
	all, err := proc.Take(proc.Want{})
	if err != nil {
		return instance{}, fmt.Errorf("cannot look for drainit: %w", err)
	}
	own, err := proc.Cgroups(unix.Getpid())
	in := func(p proc.Process) bool {
		theirs, err := proc.Cgroups(p.PID)
		return err == nil && theirs == own
	}
	first, ok := all.Process(1)
	ok = ok && hasTitle(first)
	switch {
	case ok && (err != nil || in(first)):
		return instance{first, all.Descendants(1)}, nil
	case err != nil:
		return instance{}, fmt.Errorf("cannot look for drainit: %w", err)
	}
	found := slices.DeleteFunc(all.All(), func(p proc.Process) bool {
		above, known := all.Process(p.PPID)
		// Where PID 1 may be meant all the same, another must be the first of its cgroups.
		return !hasTitle(p) || !in(p) || ok && known && in(above)
	})
	switch {
	case len(found) == 1:
		return instance{found[0], all.Descendants(found[0].PID)}, nil
	case ok && len(found) == 0: // asked from another cgroup of its container
		return instance{first, all.Descendants(1)}, nil
	case len(found) == 0:
		return instance{}, errors.New("no drainit runs a worker in this container: it is not PID 1, and none is in this cgroup")
	}
	return instance{}, fmt.Errorf("which drainit? %s are in this cgroup, and none is PID 1; kill(1) signals one by its pid", logx.List(found, proc.Process.String))
}

// refresh reads the instance anew; gone is true when it has ended.
func (d instance) refresh() (now instance, gone bool) {
	p, err := proc.Read(d.PID)
	if proc.IsGone(err) || err == nil && (p.ID != d.ID || !p.Alive()) {
		return d, true
	}
	if err == nil {
		d.Process = p
	}
	return d, false
}

// signal sends it a signal. PID 1 needs no care: its pid is never recycled.
func (d instance) signal(sig unix.Signal) error {
	var err error
	if d.PID == 1 {
		err = reaper.SignalInit(sig)
	} else {
		err = reaper.Signal(d.ID, sig)
	}
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("not permitted: %s runs as another user; ask as that user, as root, or with CAP_KILL", d.label())
	case err != nil:
		return fmt.Errorf("cannot signal %s: %w", d.label(), err)
	}
	return nil
}

func (d instance) label() string { return proc.Label("drainit", d.PID) }

func hasTitle(p proc.Process) bool {
	_, _, ok := title.Parse(p.Comm)
	return ok && p.Alive()
}

func (d instance) phase() phase.Phase {
	p, _, _ := title.Parse(d.Comm)
	return p
}

// workerAlive is what the title says.
func (d instance) workerAlive() bool {
	_, alive, _ := title.Parse(d.Comm)
	return alive
}
