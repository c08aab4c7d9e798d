package stress

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"drainit/test/harness"
)

// runIsKilled is in the environment of a test binary that is to be killed.
const runIsKilled = "DRAINTEST_KILLED"

// A run that is killed has no clean-up of its own: neither of what works as PID 1 of a
// namespace, nor of what a drainit that is not PID 1 leaves.
func TestKilledRunLeavesNothing(t *testing.T) {
	if os.Getenv(runIsKilled) != "" {
		leaveMuch(t)
	}
	harness.Full(t)
	t.Parallel()
	harness.Need(t, "go")
	p := harness.NewInit(t)
	p.Cmd = exec.Command(os.Args[0], "-test.run", "^TestKilledRunLeavesNothing$")
	p.Cmd.Env = append(os.Environ(), p.Marker, runIsKilled+"=1")
	p.Start(nil, nil)
	dir := p.WaitOut(`^all started in (.*)$`)[1]
	left := func() []int { return harness.Marked(harness.MarkerOf(p.Pid())) }
	t.Cleanup(func() {
		for _, pid := range left() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	if n := len(left()); n < 6 { // twice drainit, the shell and its child
		t.Errorf("only %d processes that could be left", n)
	}
	p.Signal(syscall.SIGKILL)
	p.Wait()
	harness.WaitUntil(t, "its processes have been killed", func() bool { return len(left()) == 0 })
	harness.WaitUntil(t, "its folder has been removed", func() bool {
		_, err := os.Stat(dir)
		return errors.Is(err, fs.ErrNotExist)
	})
}

// leaveMuch starts what a killed run must not leave, says so, and waits to be killed.
func leaveMuch(t *testing.T) {
	const ignores = `trap "" TERM; "$0" listen -end "" & wait` // TERM from a drainit that dies ends nothing
	for _, noPID1 := range []bool{false, true} {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", "sh", "-c", ignores, harness.WorkerBin}})
		p.WaitOut(`^ready`)
	}
	fmt.Println("all started in", filepath.Dir(harness.DrainitBin))
	select {}
}
