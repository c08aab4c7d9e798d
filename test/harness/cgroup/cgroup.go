// Package cgroup makes cgroups that can have a CPU limit, as an engine gives them to a
// container, for the tests and the bench.
package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// period is the time that the kernel shares out at once (cfs_period_us's default). What has
// used up its part of one sleeps until the next begins.
const period = 100 * time.Millisecond

// CPU is a cgroup that can have a CPU limit.
type CPU struct {
	Dir string
	v2  bool
}

// NewCPU makes one without a limit. The error says why there is none, of each hierarchy.
func NewCPU(name string) (CPU, error) {
	hierarchies, err := mounted("cpu")
	if err != nil {
		return CPU{}, err
	}
	failed := []error{errors.New("needs a cgroup whose CPU limit it may write (cpu.cfs_quota_us or cpu.max)")}
	for _, h := range hierarchies {
		g := CPU{filepath.Join(h.Dir, name), h.v2}
		if err := g.make(h); err != nil {
			failed = append(failed, err)
			continue
		}
		return g, nil
	}
	return CPU{}, errors.Join(failed...)
}

// hierarchy is a mounted one, by its root.
type hierarchy struct {
	Dir string
	v2  bool
}

// mounted are those that may have this controller.
func mounted(controller string) (all []hierarchy, err error) {
	b, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		switch {
		case f[2] == "cgroup" && slices.Contains(strings.Split(f[3], ","), controller):
			all = append(all, hierarchy{f[1], false})
		case f[2] == "cgroup2":
			all = append(all, hierarchy{f[1], true})
		}
	}
	return all, nil
}

// makeChild makes a folder below the root, which has the files of this controller.
func (h hierarchy) makeChild(controller, dir string) error {
	if h.v2 { // without this its children have none
		if err := os.WriteFile(filepath.Join(h.Dir, "cgroup.subtree_control"), []byte("+"+controller), 0); err != nil {
			return err
		}
	}
	return os.Mkdir(dir, 0o755)
}

// make makes the folder, and checks that a limit can be written there.
func (g CPU) make(in hierarchy) error {
	if err := in.makeChild("cpu", g.Dir); err != nil {
		return err
	}
	if err := g.Lift(); err != nil {
		return errors.Join(err, os.Remove(g.Dir))
	}
	return nil
}

// Busy reports whether it can't be removed yet, for a process is in it. It removes it
// otherwise.
func (g CPU) Busy() bool { return isBusy(g.Dir) }

func isBusy(dir string) bool { return errors.Is(os.Remove(dir), unix.EBUSY) }

// Limit limits all its processes together to so many thousandths of a CPU: Kubernetes' 50m
// is 5 ms of each 100.
func (g CPU) Limit(milli int) error { return g.write(period * time.Duration(milli) / 1000) }

// Lift takes the limit away.
func (g CPU) Lift() error { return g.write(-1) }

// write writes a limit: so much CPU time in each period, or none if that is negative.
func (g CPU) write(quota time.Duration) error {
	file, text := "cpu.cfs_quota_us", "-1"
	if quota >= 0 {
		text = strconv.FormatInt(quota.Microseconds(), 10)
	}
	if g.v2 {
		file = "cpu.max"
		if quota < 0 {
			text = "max"
		}
		text = fmt.Sprint(text, " ", period.Microseconds())
	}
	return os.WriteFile(filepath.Join(g.Dir, file), []byte(text), 0)
}

// Move moves a process into it.
func (g CPU) Move(pid int) error { return move(g.Dir, pid) }

// Join moves the calling process into the cgroup with this folder.
func Join(dir string) error { return move(dir, 0) }

func move(dir string, pid int) error {
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
}
