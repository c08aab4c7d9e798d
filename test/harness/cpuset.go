package harness

import (
	"fmt"
	"os"
	"testing"

	"drainit/test/harness/cgroup"
)

// Cpuset is a cgroup of a test's that says which processors its processes may run on.
type Cpuset struct {
	t *testing.T
	g cgroup.Cpuset
}

// NewCpuset makes one with these processors. The test is skipped where none can be made.
func NewCpuset(t *testing.T, processors string) Cpuset {
	t.Helper()
	NeedRoot(t)
	g, err := cgroup.NewCpuset(fmt.Sprintf("drainit-cpuset-%d-%d", os.Getpid(), launches.Add(1)), processors)
	if err != nil {
		Skip(t, err.Error())
	}
	t.Cleanup(func() { WaitUntil(t, "the cgroup is gone", func() bool { return !g.Busy() }) })
	return Cpuset{t, g}
}

// Set says which processors its processes may run on from now on.
func (c Cpuset) Set(processors string) {
	c.t.Helper()
	if err := c.g.Set(processors); err != nil {
		c.t.Fatal(err)
	}
}

// Run starts an init in the cgroup.
func (c Cpuset) Run(l Launch) *Init {
	c.t.Helper()
	return runIn(c.t, c.g.Dir, l)
}
