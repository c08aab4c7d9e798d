// Package cgroup makes cgroups that can have a limit, as an engine gives them to a
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

	"golang.org/x/sys/unix"
)

// limits are the files of each version of cgroups of which one has the limit of a controller.
var limits = map[string][]string{"cpu": {"cpu.max", "cpu.cfs_quota_us"},
	"pids": {"pids.max"}, "": {"cgroup.procs"}}

// Make makes a cgroup without a limit, in the first hierarchy that lets us, of version 2 where
// there is one, and that has a controller, unless that is "". The error says why there is none,
// of each hierarchy.
func Make(name, controller string) (dir string, err error) {
	mounts, err := os.ReadFile("/proc/mounts")
	failed := []error{err, fmt.Errorf("needs a cgroup of which it may write one of %q", limits[controller])}
	for _, version := range []string{"cgroup2", "cgroup"} {
		for line := range strings.Lines(string(mounts)) {
			f := strings.Fields(line)
			if f[2] != version || strings.Contains(f[3], "cpuset") { // which wants CPUs first
				continue
			}
			// Without this the children have none in version 2. There is no such file in version 1.
			delegated := os.WriteFile(filepath.Join(f[1], "cgroup.subtree_control"),
				[]byte("+"+controller), 0)
			dir := filepath.Join(f[1], name)
			if err := os.Mkdir(dir, 0o755); err != nil {
				failed = append(failed, err)
			} else if slices.ContainsFunc(limits[controller],
				func(file string) bool { return unix.Access(filepath.Join(dir, file), unix.W_OK) == nil }) {
				return dir, nil
			} else {
				failed = append(failed, fmt.Errorf("%s has none: %w", dir, delegated), os.Remove(dir))
			}
		}
	}
	return "", errors.Join(failed...)
}

// CPU is the folder of a cgroup that can have a CPU limit.
type CPU string

// Limit limits all its processes together to so many thousandths of a CPU: Kubernetes' 50m
// is 5 ms of each 100. What has used up its part of those sleeps until the next begin.
func (g CPU) Limit(milli int) error { return g.write(strconv.Itoa(100 * milli)) }

// Lift takes the limit away.
func (g CPU) Lift() error { return g.write("max") }

// write writes how many microseconds of each 100 ms, the default of both versions, it may run.
func (g CPU) write(quota string) error {
	file := filepath.Join(string(g), "cpu.max")
	if _, err := os.Stat(file); err != nil { // version 1
		file, quota = filepath.Join(string(g), "cpu.cfs_quota_us"), strings.Replace(quota, "max", "-1", 1)
	}
	return os.WriteFile(file, []byte(quota), 0)
}

// Join moves the calling process into the cgroup with this folder.
func Join(dir string) error { return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0) }

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
