// Package cgroup makes cgroups that can have a CPU limit, as an engine gives them to a
// container, for the tests and the bench.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
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

// NewCPU makes one without a limit, where one can be written. The error says why there is none, of
// each hierarchy.
func NewCPU(name string) (CPU, error) {
	mounts, err := os.ReadFile("/proc/mounts")
	failed := []error{err, errors.New("needs a cgroup whose CPU limit it may write (cpu.cfs_quota_us or cpu.max)")}
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		g := CPU{filepath.Join(f[1], name), f[2] == "cgroup2"}
		if !g.v2 && (f[2] != "cgroup" || !slices.Contains(strings.Split(f[3], ","), "cpu")) {
			continue
		}
		if err = g.make(f[1]); err == nil {
			return g, nil
		}
		failed = append(failed, err)
	}
	return CPU{}, errors.Join(failed...)
}

// make makes the folder below a root, and checks that a limit can be written there.
func (g CPU) make(root string) error {
	if g.v2 { // without this its children have none
		if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+cpu"), 0); err != nil {
			return err
		}
	}
	if err := os.Mkdir(g.Dir, 0o755); err != nil {
		return err
	}
	if err := g.Lift(); err != nil {
		return errors.Join(err, os.Remove(g.Dir))
	}
	return nil
}

// Busy reports whether it can't be removed yet, for a process is in it. It removes it
// otherwise.
func (g CPU) Busy() bool { return errors.Is(os.Remove(g.Dir), unix.EBUSY) }

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

// At are the folders of a cgroup, whose name may be a pattern of path/filepath: the one of
// version 2, or one in each hierarchy of version 1 that has it.
func At(name string) (all []string) {
	for _, hierarchy := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*"} {
		found, _ := filepath.Glob(filepath.Join(hierarchy, name)) // fails for a bad pattern only
		all = append(all, found...)
	}
	return all
}

// Tree are the folders of a cgroup and of those below it, each after what is below it: in
// the order in which they can be removed.
func Tree(top string) (all []string) {
	_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			all = append(all, path)
		}
		return nil // what has gone by itself is no error
	})
	slices.Reverse(all)
	return all
}
