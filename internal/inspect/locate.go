package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/phase"
	"drainit/internal/proc"
	"drainit/internal/title"
	"drainit/reaper"
)

// instance is a running drainit, as /proc shows it to any user.
type instance struct {
	proc.Process
	descendants []*proc.Process    // the living ones, where they were looked for
	signalled   time.Time          // at first; zero where it was not
	late        func(notice error) // says that there is no answer yet; nil once it has
}

// system is what locate asks of /proc.
type system struct {
	all         *proc.Snapshot
	cgroups     func(pid int) (string, error)
	sameProgram func(pid int) (same, known bool)
}

// locate finds the drainit with this pid, or for 0 the one that the caller means. What is
// below it is known only where that is wanted: mostly one process tells all else.
func locate(pid int, below bool) (*instance, error) {
	if !below {
		if d := locateAlone(pid); d != nil {
			return d, nil
		}
	}
	look, err := lookAt(proc.Want{})
	if errors.Is(err, proc.ErrNoAnswer) { // too many hang: what is below it can't be known
		if d := locateAlone(pid); d != nil {
			return d, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot look for drainit: %w", err)
	}
	if pid == 0 {
		pid, err = look.meant()
	} else if !look.hasTitle(pid) && !look.isStarting(pid) {
		err = fmt.Errorf("--pid: no drainit runs as %d", pid)
	}
	if err != nil {
		return nil, err
	}
	return look.instance(pid), nil
}

// locateAlone looks at no process but the one with this pid, or for 0 at PID 1; nil where that
// is not enough.
func locateAlone(pid int) *instance {
	at := cmp.Or(pid, 1)
	look, err := lookAt(proc.Want{Only: at})
	if err != nil || !look.hasTitle(at) {
		return nil
	}
	if pid == 0 {
		if in, err := look.beside(); err == nil && !in(at) {
			return nil
		}
	}
	return look.instance(at)
}

func (look *system) instance(pid int) *instance {
	p, _ := look.all.Process(pid)
	return &instance{Process: p, descendants: append(look.all.Descendants(pid), look.all.Hanging(pid)...)}
}

func lookAt(w proc.Want) (*system, error) {
	all, err := settled(func() (*proc.Snapshot, error) { return proc.Take(w) })
	return &system{all, proc.Cgroups, proc.SameProgram}, err
}

// settled is what a look shows, or a second one where the first shows a torn name.
func settled(look func() (*proc.Snapshot, error)) (*proc.Snapshot, error) {
	all, err := look()
	if err == nil && slices.ContainsFunc(all.All(), torn) {
		return look()
	}
	return all, err
}

// torn reports whether a process has the beginning of a title as its name, and then none: the
// kernel shows a name while it changes, with a part of the one before.
func torn(p *proc.Process) bool {
	_, ok := title.Parse(p.Comm)
	return !ok && p.Comm != title.Pause && strings.HasPrefix(p.Comm, "drainit:")
}

// meant is the drainit that the caller means: the first process of the caller's
// container. That is PID 1, or where containers share a PID namespace (PID 1 is a pod's
// pause, a host's init, another container's drainit), the one in the caller's cgroups.
func (look *system) meant() (pid int, err error) {
	in, err := look.beside()
	first := look.hasTitle(1)
	switch {
	case first && (err != nil || in(1)):
		return 1, nil
	case err != nil:
		return 0, fmt.Errorf("cannot look for drainit: %w", err)
	}
	found := look.preferred(look.topmost(look.titled(in, first)))
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return 0, fmt.Errorf("several drainits here: %s; choose one with --pid", list(found))
	case first, look.isStarting(1): // first: asked from another cgroup of its container
		return 1, nil
	}
	return 0, errors.New("no drainit runs a worker in this container: it is not PID 1, and none is in this cgroup")
}

// beside returns what reports whether a process is in the caller's cgroups.
func (look *system) beside() (in func(pid int) bool, err error) {
	own, err := look.cgroups(unix.Getpid())
	return func(pid int) bool {
		theirs, err := look.cgroups(pid)
		return err == nil && theirs == own
	}, err
}

// titled are those in the caller's cgroups that call themselves a drainit. Where PID 1 may
// be meant all the same, another must be the first of its cgroups.
func (look *system) titled(in func(pid int) bool, first bool) (found []int) {
	for _, p := range look.all.All() {
		if look.hasTitle(p.PID) && in(p.PID) && !(first && in(p.PPID)) {
			found = append(found, p.PID)
		}
	}
	return found
}

// topmost leaves out what is below another one: a worker may start a drainit, and any
// process may have itself called one.
func (look *system) topmost(found []int) []int {
	below := make(map[int]bool)
	for _, pid := range found {
		for _, p := range look.all.Descendants(pid) {
			below[p.PID] = true
		}
	}
	return slices.DeleteFunc(found, func(pid int) bool { return below[pid] })
}

// preferred leaves out what surely runs another program than this one, if any may run this
// one: a process may have itself called a drainit. An engine's own copy of drainit beside
// the image's is another program.
func (look *system) preferred(found []int) []int {
	others, any := make(map[int]bool), false
	for _, pid := range found {
		same, known := look.sameProgram(pid)
		others[pid] = known && !same
		any = any || !others[pid]
	}
	return slices.DeleteFunc(found, func(pid int) bool { return any && others[pid] })
}

// isStarting reports whether a process is PID 1, and a drainit that has no title yet.
func (look *system) isStarting(pid int) bool {
	p, ok := look.all.Process(pid)
	if !ok || pid != 1 || strings.HasPrefix(p.Comm, "drainit:") {
		return false
	}
	same, _ := look.sameProgram(pid)
	return same
}

// hasTitle reports whether a process calls itself a drainit.
func (look *system) hasTitle(pid int) bool {
	p, _ := look.all.Process(pid)
	_, ok := title.Parse(p.Comm)
	return ok && p.Alive()
}

// list names pids.
func list(pids []int) string {
	var all []string
	for _, pid := range pids {
		all = append(all, strconv.Itoa(pid))
	}
	return strings.Join(all, ", ")
}

// refresh reads the instance anew; gone is true when it has ended.
func (d *instance) refresh() (now *instance, gone bool) {
	all, err := settled(func() (*proc.Snapshot, error) { return proc.Take(proc.Want{Only: d.PID}) })
	p, _ := all.Process(d.PID)
	if proc.IsGone(err) || err == nil && (p.ID != d.ID || !p.Alive()) {
		return d, true
	}
	if err != nil {
		return d, false
	}
	fresh := *d
	fresh.Process = p
	return &fresh, false
}

// signal sends it a signal. PID 1 needs no care: its pid is never recycled.
func (d *instance) signal(sig unix.Signal) error {
	if d.signalled.IsZero() {
		d.signalled = time.Now()
	}
	var err error
	if d.PID == 1 {
		err = reaper.SignalInit(sig)
	} else {
		err = reaper.Signal(d.ID, sig, proc.Read)
	}
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("not permitted: %s runs as another user; ask as that user, as root, or with CAP_KILL", d.label())
	case err != nil:
		return fmt.Errorf("cannot signal %s: %w", d.label(), err)
	}
	return nil
}

func (d *instance) label() string { return proc.Label("drainit", d.PID) }

// state is what the title says, and of a drainit without one that it is starting.
func (d *instance) state() title.State {
	s, _ := title.Parse(d.Comm)
	return s
}

func (d *instance) phase() phase.Phase { return d.state().Phase }
