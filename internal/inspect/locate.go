package inspect

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/logx"
	"drainit/internal/proc"
	"drainit/internal/title"
)

// drainit is a process that calls itself one, as /proc shows it to any user.
type drainit struct {
	proc.Process
	is title.State
}

func (d drainit) String() string { return fmt.Sprintf("drainit[%d]", d.PID) }

// system is what the verbs ask of /proc.
type system struct {
	read        func(pid int) (proc.Process, error)
	all         func() (*proc.Snapshot, error)
	tree        func(root int, since *proc.Snapshot, within time.Duration) (*proc.Snapshot, error)
	file        func(pid int, name string) (string, error)
	open        func(pid int, shown string) (string, error)
	runsAnother func(pid int) bool
}

func linux() (sys system) {
	r := new(proc.Reader)
	sys.read, sys.all, sys.tree, sys.runsAnother = r.Read, r.All, r.Tree, r.RunsAnother
	sys.file, sys.open = proc.ReadWhole, proc.ReadOpen
	return sys
}

// look reads one drainit. The error is that of proc.Reader.Read, or ESRCH if the process is none. If it seems
// to be none, look reads again, since the kernel may show a name while it changes.
func (sys system) look(pid int) (d drainit, err error) {
	for range 2 {
		if d.Process, err = sys.read(pid); err != nil {
			return d, err
		}
		var ok bool
		if d.is, ok = title.Parse(d.Comm); ok && d.Alive() {
			return d, nil
		}
	}
	return d, unix.ESRCH
}

// locate finds the drainit with this pid or, if pid is 0, that of the caller's container. That is PID 1, or
// the one in the caller's cgroups if containers share a PID namespace. There PID 1 is a pod's pause, a host's
// init, or another container's drainit.
func (sys system) locate(pid int) (drainit, error) {
	d, failed := sys.look(max(pid, 1))
	if pid <= 1 && failed != nil && failed != unix.ESRCH { // PID 1 is there always (hidepid, proc(5))
		const advice = "ask as that of drainit, or as root"
		failed = fmt.Errorf("no drainit is seen: PID 1 is hidden from this user, "+advice+" (%v)", failed)
	}
	switch {
	case pid != 0 && proc.IsGone(failed):
		return d, fmt.Errorf("--pid: no drainit runs as %d", pid)
	case pid != 0 || failed == nil && sys.sharesCgroup(1):
		return d, failed
	}
	all, err := sys.all()
	if err != nil {
		return d, err
	}
	found := sys.topmost(all)
	switch {
	case len(found) == 1:
		return sys.locate(found[0])
	case len(found) > 1:
		these := logx.List(found, strconv.Itoa)
		return d, fmt.Errorf("several drainits here: %s; choose one with --pid", these)
	case failed == unix.ESRCH:
		const none = "no drainit runs a worker in this container: it is not PID 1, and none is in this cgroup"
		return d, errors.New(none)
	}
	return d, failed // nil: it is asked from another cgroup of its container
}

// sharesCgroup reports whether a process is in the caller's cgroups, which are the same for all of a
// container (cgroups(7)).
func (sys system) sharesCgroup(pid int) bool {
	own, err := sys.file(unix.Getpid(), "cgroup")
	its, itsErr := sys.file(pid, "cgroup")
	return err == nil && itsErr == nil && its == own
}

// topmost returns the pids of the processes in the caller's cgroups that call themselves a drainit and are
// not known to run another program. It leaves out those below another one: a worker may start a drainit.
func (sys system) topmost(all *proc.Snapshot) (found []int) {
	below := make(map[int]bool)
	for _, p := range all.All() {
		if _, ok := title.Parse(p.Comm); ok && sys.sharesCgroup(p.PID) && !sys.runsAnother(p.PID) {
			found = append(found, p.PID)
			for _, p := range all.Descendants(p.PID) {
				below[p.PID] = true
			}
		}
	}
	return slices.DeleteFunc(found, func(pid int) bool { return below[pid] })
}
