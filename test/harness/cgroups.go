package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness/cgroup"
)

// NewCgroup makes a cgroup in the first hierarchy that lets us, of version 2
// where there is one.
func NewCgroup(t *testing.T) (dir string) {
	t.Helper()
	NeedRoot(t)
	for _, mount := range cgroupMounts(t) {
		dir := filepath.Join(mount, fmt.Sprintf("drainit-test-%d-%d", os.Getpid(), launches.Add(1)))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Log(err)
			continue
		}
		t.Cleanup(func() { removeWhenEmpty(t, dir) })
		return dir
	}
	Skip(t, "needs a hierarchy of cgroups that it may write to")
	return ""
}

// removeWhenEmpty removes a cgroup, which is busy until the last in it has been waited for.
func removeWhenEmpty(t *testing.T, dir string) {
	var failed error
	WaitUntil(t, "the cgroup "+dir+" is empty", func() bool {
		failed = os.Remove(dir)
		return !errors.Is(failed, unix.EBUSY)
	})
	if failed != nil && !errors.Is(failed, fs.ErrNotExist) {
		t.Error(failed)
	}
}

// RemoveCgroups removes a cgroup that no process is in any more, and those below
// it, from each hierarchy that has it.
func RemoveCgroups(t *testing.T, path string) {
	t.Helper()
	for _, top := range cgroup.At(path) {
		for _, dir := range cgroup.Tree(top) {
			removeWhenEmpty(t, dir)
		}
	}
}

// cgroupMounts are where hierarchies are mounted that take a process without
// further ado.
func cgroupMounts(t *testing.T) (v2first []string) {
	t.Helper()
	var v1 []string
	for line := range strings.Lines(TextOf(t, "/proc/mounts")) {
		f := strings.Fields(line)
		switch {
		case f[2] == "cgroup2":
			v2first = append(v2first, f[1])
		case f[2] == "cgroup" && !strings.Contains(f[3], "cpuset"): // which wants CPUs first
			v1 = append(v1, f[1])
		}
	}
	return append(v2first, v1...)
}

// PidsCgroup is the folder of a cgroup whose processes and threads can be limited.
type PidsCgroup string

// NewPidsCgroup makes one without a limit. The test is skipped where none can be made.
func NewPidsCgroup(t *testing.T) PidsCgroup {
	t.Helper()
	NeedRoot(t)
	for _, mount := range cgroupMounts(t) {
		dir := filepath.Join(mount, fmt.Sprintf("drainit-pids-%d-%d", os.Getpid(), launches.Add(1)))
		_ = os.WriteFile(filepath.Join(mount, "cgroup.subtree_control"), []byte("+pids"), 0) // of version 2
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { removeWhenEmpty(t, dir) })
		if _, err := os.Stat(filepath.Join(dir, "pids.max")); err == nil {
			return PidsCgroup(dir)
		}
	}
	Skip(t, "needs a cgroup whose pids.max it may write")
	return ""
}

// Limit sets pids.max.
func (g PidsCgroup) Limit(t *testing.T, most int) {
	t.Helper()
	Must(t, os.WriteFile(filepath.Join(string(g), "pids.max"), []byte(strconv.Itoa(most)), 0))
}

// Move moves a process into it with its threads, and none below it.
func (g PidsCgroup) Move(t *testing.T, pid int) {
	t.Helper()
	Must(t, os.WriteFile(filepath.Join(string(g), "cgroup.procs"), []byte(strconv.Itoa(pid)), 0))
}

// Run starts an init in it, with nothing beside.
func (g PidsCgroup) Run(t *testing.T, l Launch) *Init {
	t.Helper()
	return Run(t, joining(string(g), l))
}

// joining has an init join the cgroup with this folder first.
func joining(dir string, l Launch) Launch {
	if l.Bin == "" {
		l.Bin = DrainitBin
	}
	l.Args = append([]string{"-c", `echo 0 >"$0/cgroup.procs" && exec "$@"`, dir, l.Bin}, l.Args...)
	l.Bin = "/bin/sh"
	return l
}

// CpuCgroup is a cgroup of a test's.
type CpuCgroup struct {
	t *testing.T
	cgroup.CPU
}

// NewCPUCgroup makes one without a limit. The test is skipped where none can be made.
func NewCPUCgroup(t *testing.T) CpuCgroup {
	t.Helper()
	NeedRoot(t)
	g, err := cgroup.NewCPU(fmt.Sprintf("drainit-cpu-%d-%d", os.Getpid(), launches.Add(1)))
	if err != nil {
		Skip(t, err.Error())
	}
	made := CpuCgroup{t, g}
	t.Cleanup(func() {
		made.Lift() // the last of its processes need CPU time to die
		removeWhenEmpty(t, g.Dir)
	})
	return made
}

// Limit sets the limit, in thousandths of a processor.
func (g CpuCgroup) Limit(milli int) {
	g.t.Helper()
	Must(g.t, g.CPU.Limit(milli))
}

// Lift takes the limit away.
func (g CpuCgroup) Lift() {
	g.t.Helper()
	if err := g.CPU.Lift(); err != nil {
		g.t.Error(err)
	}
}

// Run starts an init in the cgroup. Without a limit it starts at once; a limit is for
// what is up.
func (g CpuCgroup) Run(l Launch) *Init {
	g.t.Helper()
	p := Run(g.t, joining(g.Dir, l))
	g.t.Cleanup(g.Lift) // before the end of the init, which is much work for the kernel
	return p
}
