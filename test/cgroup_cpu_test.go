package test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cpuCgroup is a cgroup that can have a CPU limit, as an engine gives it to a container.
type cpuCgroup struct {
	t   *testing.T
	dir string
	v2  bool
}

// cpuPeriod is the time that the kernel shares out at once (cfs_period_us's default). What has
// used up its part of one sleeps until the next begins.
const cpuPeriod = 100 * time.Millisecond

// newCPUCgroup makes one without a limit. The test is skipped where none can be made.
func newCPUCgroup(t *testing.T) cpuCgroup {
	t.Helper()
	needRoot(t)
	var failed []string
	for _, mount := range cpuMounts(t) {
		g := cpuCgroup{t, filepath.Join(mount.dir, fmt.Sprintf("drainit-cpu-%d-%d", os.Getpid(), launches.Add(1))), mount.v2}
		if err := g.make(); err != nil {
			failed = append(failed, err.Error())
			continue
		}
		t.Cleanup(g.remove)
		return g
	}
	skip(t, fmt.Sprintf("needs a cgroup whose CPU limit it may write (cpu.cfs_quota_us or cpu.max): %q", failed))
	return cpuCgroup{}
}

// cpuMount is where a hierarchy is mounted that may have the cpu controller.
type cpuMount struct {
	dir string
	v2  bool
}

func cpuMounts(t *testing.T) (all []cpuMount) {
	t.Helper()
	b, err := os.ReadFile("/proc/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		switch {
		case f[2] == "cgroup" && slices.Contains(strings.Split(f[3], ","), "cpu"):
			all = append(all, cpuMount{f[1], false})
		case f[2] == "cgroup2":
			all = append(all, cpuMount{f[1], true})
		}
	}
	return all
}

// make makes the folder, and checks that a limit can be written there.
func (g cpuCgroup) make() error {
	if g.v2 { // without this its children have no cpu.max
		if err := os.WriteFile(filepath.Join(filepath.Dir(g.dir), "cgroup.subtree_control"), []byte("+cpu"), 0); err != nil {
			return err
		}
	}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return err
	}
	if err := g.write(-1); err != nil {
		return errors.Join(err, os.Remove(g.dir))
	}
	return nil
}

// remove waits for the last of its processes, which need CPU time to die.
func (g cpuCgroup) remove() {
	g.lift()
	waitUntil(g.t, "the cgroup is gone", func() bool { return !errors.Is(os.Remove(g.dir), unix.EBUSY) })
}

// write writes a limit: so much CPU time in each period, or none if that is negative.
func (g cpuCgroup) write(quota time.Duration) error {
	file, text := "cpu.cfs_quota_us", "-1"
	if quota >= 0 {
		text = strconv.FormatInt(quota.Microseconds(), 10)
	}
	if g.v2 {
		file = "cpu.max"
		if quota < 0 {
			text = "max"
		}
		text += " " + strconv.FormatInt(cpuPeriod.Microseconds(), 10)
	}
	return os.WriteFile(filepath.Join(g.dir, file), []byte(text), 0)
}

// limit limits all its processes together to so many thousandths of a CPU: Kubernetes' 50m
// is 5 ms of each 100.
func (g cpuCgroup) limit(milli int) {
	g.t.Helper()
	if err := g.write(cpuPeriod * time.Duration(milli) / 1000); err != nil {
		g.t.Fatal(err)
	}
}

// lift takes the limit away.
func (g cpuCgroup) lift() {
	g.t.Helper()
	if err := g.write(-1); err != nil {
		g.t.Error(err)
	}
}

// launch starts an init in the cgroup. Without a limit it starts at once; a limit is for
// what is up.
func (g cpuCgroup) launch(l Launch) *Init {
	g.t.Helper()
	if l.Bin == "" {
		l.Bin = drainitBin
	}
	l.Args = append([]string{"-c", `echo 0 >"$0/cgroup.procs" && exec "$@"`, g.dir, l.Bin}, l.Args...)
	l.Bin = "/bin/sh"
	p := launch(g.t, l)
	g.t.Cleanup(g.lift) // before the end of the init, which is much work for the kernel
	return p
}

// usedCPU is the CPU time of a process, those of its threads included that have ended:
// utime and stime of proc_pid_stat(5), in ticks of 10 ms.
func usedCPU(t *testing.T, pid int) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	ticks := 0
	for _, field := range f[11:13] {
		n, err := strconv.Atoi(string(field))
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
