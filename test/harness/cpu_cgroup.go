package harness

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"drainit/test/harness/cgroup"
)

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
	t.Cleanup(made.remove)
	return made
}

// remove waits for the last of its processes, which need CPU time to die.
func (g CpuCgroup) remove() {
	g.Lift()
	WaitUntil(g.t, "the cgroup is gone", func() bool { return !g.Busy() })
}

// Limit sets the limit, in thousandths of a processor.
func (g CpuCgroup) Limit(milli int) {
	g.t.Helper()
	if err := g.CPU.Limit(milli); err != nil {
		g.t.Fatal(err)
	}
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
	p := runIn(g.t, g.Dir, l)
	g.t.Cleanup(g.Lift) // before the end of the init, which is much work for the kernel
	return p
}

// runIn starts an init in the cgroup with this folder.
func runIn(t *testing.T, dir string, l Launch) *Init {
	t.Helper()
	if l.Bin == "" {
		l.Bin = DrainitBin
	}
	l.Args = append([]string{"-c", `echo 0 >"$0/cgroup.procs" && exec "$@"`, dir, l.Bin}, l.Args...)
	l.Bin = "/bin/sh"
	return Run(t, l)
}

// Starve moves a process into the cgroup, limits that to a hundredth of a processor, and has
// another use it up: mostly the process waits for its turn as soon as it wakes up.
func (g CpuCgroup) Starve(pid int) {
	g.t.Helper()
	hog := exec.Command("/bin/sh", "-c", "while :; do :; done")
	if err := hog.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		_ = hog.Process.Kill() // it runs until then
		_ = hog.Wait()
	})
	for _, p := range []int{hog.Process.Pid, pid} {
		if err := g.Move(p); err != nil {
			g.t.Fatal(err)
		}
	}
	g.Limit(10)
}
