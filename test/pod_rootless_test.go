package test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A user's own podman: root in the container is that user, and may do no more
// than he.
func TestPodmanRootless(t *testing.T) {
	t.Parallel()
	e := startPodmanOf(t, ownUID(), "")
	p := e.worker("rootless", nil, nil, "-catch", "TSTP,TERM", "-drain", "300ms")
	e.wantStatus("rootless", "running")
	if quiet := e.exec("rootless", "/drainit", "quiet"); quiet.status != 0 {
		t.Errorf("the verb quiet: %+v", quiet)
	}
	p.waitOut(`^got SIGTSTP`)
	e.ask("stop", "rootless")
	p.wantExit(0)
	p.wantGots("got SIGTSTP", "got SIGTERM")
	p.wantCount("drained", 1)
}

// endPause ends the process with which podman holds a user's namespaces.
func (e podman) endPause() {
	text, err := os.ReadFile(filepath.Join(e.dir, "tmp/pause.pid"))
	if err != nil {
		return // root needs none
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		e.t.Error(err)
	}
}
