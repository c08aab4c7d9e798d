package supervisor

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/reaper"
)

// instance is a running drainit, as /proc shows it to any user.
type instance struct {
	proc.Process
	below []proc.Process // the living processes below it
}

// findInstance finds the drainit that the caller means: the first process of the
// caller's container. That is PID 1, or where containers share a PID namespace
// (PID 1 is a pod's pause, a host's init, another container's drainit), the one
// in the caller's cgroups.
func findInstance() (instance, error) {
	t, err := proc.ReadTree()
	if err != nil {
		return instance{}, fmt.Errorf("cannot look for drainit: %w", err)
	}
	own, err := proc.Cgroups(unix.Getpid())
	in := func(p proc.Process) bool {
		theirs, err := proc.Cgroups(p.PID)
		return err == nil && theirs == own
	}
	first, ok := t.Process(1)
	ok = ok && hasTitle(first)
	switch {
	case ok && (err != nil || in(first)):
		return instance{first, t.Below(1)}, nil
	case err != nil:
		return instance{}, fmt.Errorf("cannot look for drainit: %w", err)
	}
	found := slices.DeleteFunc(t.All(), func(p proc.Process) bool {
		above, known := t.Process(p.PPID)
		// Where PID 1 may be meant all the same, another must be the first of its cgroups.
		return !hasTitle(p) || !in(p) || ok && known && in(above)
	})
	switch {
	case len(found) == 1:
		return instance{found[0], t.Below(found[0].PID)}, nil
	case ok && len(found) == 0: // asked from another cgroup of its container
		return instance{first, t.Below(1)}, nil
	case len(found) == 0:
		return instance{}, errors.New("no drainit runs a worker in this container: it is not PID 1, and none is in this cgroup")
	}
	return instance{}, fmt.Errorf("which drainit? %s are in this cgroup, and none is PID 1; kill(1) signals one by its pid", list(found, byName))
}

// again reads the instance anew; gone is true when it has ended.
func (d instance) again() (now instance, gone bool) {
	p, err := proc.ReadProcess(d.PID)
	if proc.Vanished(err) || err == nil && (p.ID != d.ID || !p.Alive()) {
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
		err = unix.Kill(1, sig)
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

func (d instance) label() string { return label("drainit", d.PID) }

// titles gives the phase of each title.
var titles = map[string]Phase{
	titleRunning:  Running,
	titleQuiet:    Quiet,
	titleDraining: Draining,
	titleEnded:    Draining,
	titleKilling:  Killing,
}

func hasTitle(p proc.Process) bool {
	_, ok := titles[p.Comm]
	return ok && p.Alive()
}

func (d instance) phase() Phase { return titles[d.Comm] }

// workerLives is what the title says; one that is being killed has not ended.
func (d instance) workerLives() bool { return d.Comm != titleEnded }
