package inspect

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"drainit/test/harness"
)

// container is a running drainit and where it is asked from.
type container struct {
	*harness.Init // its engine, as it were: the output, and the exit status
	pid1          bool
	in            *harness.Init // whose namespaces it is in
	cgroup        string
}

// Ask calls a subcommand in the container.
func (c *container) Ask(args ...string) harness.Answer {
	c.T.Helper()
	return c.in.AskAs(harness.Ask{Cgroup: c.cgroup}, args...)
}

// begin is Ask for a subcommand that waits: it returns when that has been started.
func (c *container) begin(args ...string) *harness.Init {
	c.T.Helper()
	command := slices.Concat(c.in.Entering(0, c.cgroup), []string{harness.DrainitBin}, args)
	return harness.Run(c.T, harness.Launch{Cmd: func(marker string) *exec.Cmd {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Env = append(os.Environ(), marker)
		return cmd
	}})
}

// asked runs a test with drainit as PID 1 of its container, and in a pod that shares its PID namespace,
// where another drainit runs beside it.
func asked(t *testing.T, args []string, test func(t *testing.T, c *container)) {
	t.Helper()
	askedOf(t, func(t *testing.T, run func(l harness.Launch) *container) {
		c := run(harness.Launch{Args: args})
		c.WaitReady()
		test(t, c)
	})
}

// askedOf is asked for a test that runs its drainit itself.
func askedOf(t *testing.T, test func(t *testing.T, run func(l harness.Launch) *container)) {
	harness.NeedAsk(t)
	t.Parallel()
	t.Run("PID 1", func(t *testing.T) {
		t.Parallel()
		test(t, func(l harness.Launch) *container {
			p := harness.Run(t, l)
			return &container{p, true, p, ""}
		})
	})
	t.Run("pod", func(t *testing.T) {
		t.Parallel()
		pod := newPod(t)
		test(t, func(l harness.Launch) *container {
			neighbour := harness.Launch{Args: []string{harness.LongGrace, "--", harness.WorkerBin, "listen",
				"-name", "neighbour "}}
			runBeside(pod, harness.NewCgroup(t), neighbour).WaitOut(`^neighbour ready`)
			return runBeside(pod, harness.NewCgroup(t), l)
		})
	})
}

// newPod starts what holds the namespaces of a pod: no container's.
func newPod(t *testing.T) *harness.Init {
	harness.NeedAsk(t)
	p := harness.Run(t, harness.Launch{Bin: harness.WorkerBin, Args: []string{"listen", "-name", "pause "}})
	p.WaitOut(`^pause ready`)
	return p
}

// runBeside starts a container with drainit in it, in the PID namespace of an init, and in a cgroup of
// its own.
func runBeside(p *harness.Init, cgroup string, l harness.Launch) *container {
	p.T.Helper()
	l.NoPID1, l.Under = true, p.Entering(0, cgroup)
	c := &container{harness.Run(p.T, l), false, p, cgroup}
	harness.WaitUntil(p.T, "nsenter has forked",
		func() bool { c.Drainit = c.FirstChild(); return c.Drainit != 0 })
	return c
}
