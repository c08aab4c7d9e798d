package test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// runIsKilled is in the environment of a test binary that is to be killed.
const runIsKilled = "DRAINTEST_KILLED"

// A run that is killed has no clean-up of its own: neither of what works as PID 1 of a
// namespace, nor of what a drainit that is not PID 1 leaves.
func TestKilledRunLeavesNothing(t *testing.T) {
	if os.Getenv(runIsKilled) != "" {
		leaveMuch(t)
	}
	t.Parallel()
	need(t, "go")
	p := newInit(t)
	p.cmd = exec.Command(os.Args[0], "-test.run", "^TestKilledRunLeavesNothing$")
	p.cmd.Env = append(os.Environ(), p.marker, runIsKilled+"=1")
	p.start(nil, nil)
	dir := p.waitOut(`^all started in (.*)$`)[1]
	left := func() []int { return marked(markerOf(p.Pid())) }
	t.Cleanup(func() {
		for _, pid := range left() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	if n := len(left()); n < 6 { // twice drainit, the shell and its child
		t.Errorf("only %d processes that could be left", n)
	}
	p.signal(syscall.SIGKILL)
	p.wait()
	waitUntil(t, "its processes have been killed", func() bool { return len(left()) == 0 })
	waitUntil(t, "its folder has been removed", func() bool {
		_, err := os.Stat(dir)
		return errors.Is(err, fs.ErrNotExist)
	})
}

// leaveMuch starts what a killed run must not leave, says so, and waits to be killed.
func leaveMuch(t *testing.T) {
	const ignores = `trap "" TERM; "$0" listen -end "" & wait` // TERM from a drainit that dies ends nothing
	for _, noPID1 := range []bool{false, true} {
		p := launch(t, Launch{NoPID1: noPID1, Args: []string{"--", "sh", "-c", ignores, workerBin}})
		p.waitOut(`^ready`)
	}
	fmt.Println("all started in", filepath.Dir(drainitBin))
	select {}
}
