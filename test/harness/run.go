package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// SettingsLine is the line in which drainit -v says all its settings.
func SettingsLine(t *testing.T, args, env []string) string {
	t.Helper()
	env = append([]string{"DRAINIT_LOG_LEVEL=debug", "DRAINIT_LOG_FORMAT=text"}, env...)
	r := RunToEnd(t, Launch{NoPID1: true, Env: env, Args: append(args, "true")})
	if r.Status != 0 || r.Out != "" {
		t.Errorf("exit status %d, stdout %q", r.Status, r.Out)
	}
	line := regexp.MustCompile(`(?m)^drainit: settings: .*$`).FindString(r.Err)
	if line == "" {
		t.Fatalf("no settings in %q", r.Err)
	}
	return line
}

// Settles reports whether the line says that these settings differ from the default, and no
// others.
func Settles(line, flags string) bool {
	return strings.Contains(line, "settings: "+flags+"; pid ")
}

// Ran is what came of an init that has ended.
type Ran struct {
	Status   int
	Out, Err string
}

// RunToEnd launches an init and waits for its end.
func RunToEnd(t *testing.T, l Launch) Ran {
	t.Helper()
	p := Run(t, l)
	status := p.Wait()
	return Ran{status, p.Out(), p.Err()}
}

// WantQuietRun checks that the worker printed just this and ended with 0, and
// that drainit had nothing to say.
func (r Ran) WantQuietRun(t *testing.T, want string) {
	t.Helper()
	if r.Status != 0 || r.Out != want || r.Err != "" {
		t.Errorf("exit status %d\nstdout: %q\nwant:   %q\nstderr: %q", r.Status, r.Out, want, r.Err)
	}
}

// SignalMask is one of the masks in /proc/PID/status.
func SignalMask(t *testing.T, pid int, name string) uint64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(name + `:\s*([0-9a-f]+)`).FindSubmatch(b)
	if m == nil {
		t.Fatalf("no %s in the status of %d", name, pid)
	}
	mask, err := strconv.ParseUint(string(m[1]), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return mask
}

// StartBeside starts a program that is not below an init, and ends it with the test.
func StartBeside(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), NewMarker())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// Testdata is the absolute path of a file in the folder testdata of the package.
func Testdata(t *testing.T, elem ...string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("testdata", filepath.Join(elem...)))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// CannotRun makes a folder with programs that cannot be run: not-executable, and
// no-interpreter, whose interpreter is not there.
func CannotRun(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	WriteProgram(t, dir, "not-executable", 0o644, "#!/bin/sh\n")
	WriteProgram(t, dir, "no-interpreter", 0o755, "#!/nowhere\n")
	return dir
}

// WriteProgram writes a file for drainit to run. No other test may fork meanwhile:
// its child would hold the file open for writing, and the exec fail (ETXTBSY).
func WriteProgram(t *testing.T, dir, name string, mode os.FileMode, content string) string {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// SetUIDCopy makes a copy of a program that runs as root whatever user starts it: a drainit
// that is an ordinary user may not signal it (kill(2), EPERM).
func SetUIDCopy(t *testing.T, program string) string {
	t.Helper()
	NeedRoot(t)
	dir, err := os.MkdirTemp(filepath.Dir(WorkerBin), "set-uid-") // which others may enter, but not t.TempDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Flags&unix.ST_NOSUID != 0 {
		Skip(t, "needs a folder for temporary files that is not mounted nosuid")
	}
	b, err := os.ReadFile(program)
	if err := errors.Join(err, os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	return WriteProgram(t, dir, filepath.Base(program), 0o755|os.ModeSetuid, string(b))
}

// DescriptorsOf lists the descriptors of a process but those of the Go
// runtime's own event queue, which are no files.
func DescriptorsOf(t *testing.T, pid int) (all string) {
	t.Helper()
	for fd := range 100 {
		to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
		if err == nil && !strings.HasPrefix(to, "anon_inode:") {
			all += fmt.Sprintf("%d %s\n", fd, to)
		}
	}
	return all
}
