package test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// setUIDWorker is a copy of the test's worker that runs as root whatever user starts
// it: a drainit that is an ordinary user may not signal it (kill(2), EPERM).
func setUIDWorker(t *testing.T) string {
	t.Helper()
	needRoot(t)
	dir, err := os.MkdirTemp(filepath.Dir(workerBin), "set-uid-") // which other users can enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Flags&unix.ST_NOSUID != 0 {
		skip(t, "needs a folder for temporary files that is not mounted nosuid")
	}
	b, err := os.ReadFile(workerBin)
	path := filepath.Join(dir, "worker")
	if err == nil {
		err = os.WriteFile(path, b, 0o755)
	}
	for _, chmod := range []string{dir, path} {
		if err == nil {
			err = os.Chmod(chmod, 0o755|os.ModeSetuid)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// beyondReach are workers that are, or leave, a process which drainit may not
// signal, and the status that it then ends with.
var beyondReach = []struct {
	script string
	status int
}{
	{`exec @ARGV`, 137},
	{`$SIG{TERM} = sub { exit 4 }; spawn { exec @ARGV }; forever`, 4},
}

// All run at the same time: each takes more than 7 s.
func TestProcessThatMayNotBeSignalledIsWarnedOfAndLeft(t *testing.T) {
	need(t, "perl")
	t.Parallel()
	root := setUIDWorker(t)
	var checks []func()
	for _, c := range beyondReach {
		for _, noPID1 := range []bool{false, true} {
			p := launch(t, Launch{NoPID1: noPID1, Setup: Setup{UID: ownUID()}, Args: line([]string{"--grace", "2s"},
				script(c.script, root, "asroot", workerBin, "listen")...)})
			pid := p.workerPid()
			began := time.Now()
			p.signal(syscall.SIGTERM)
			checks = append(checks, func() {
				p.wantExit(c.status)
				wantTook(t, began, 7*time.Second, patience)
				wantBeyondReach(t, p, noPID1, pid)
			})
		}
	}
	for _, check := range checks {
		check()
	}
}

func wantBeyondReach(t *testing.T, p *Init, noPID1 bool, pid int) {
	// Not as PID 1 it lives on, and holds the pipes open.
	if err := syscall.Kill(pid, syscall.SIGKILL); noPID1 && err != nil {
		t.Errorf("the process that may not be signalled: %v", err)
	}
	p.wantNothingLeft()
	p.wantCount("got SIGTERM", 0)
	p.wantLogged(`"warn".*cannot send SIGTERM to worker\[\d+\]: .*not permitted`, 1)
	p.wantLogged(`"error".*leaving 5s after SIGKILL, still alive: worker\[\d+\] \([a-z ]+, `, 1)
	if noPID1 {
		p.wantLogged(`cannot kill worker`, 1) // and not one for each of a hundred tries
		p.wantLogged(`killed worker`, 0)
	}
}
