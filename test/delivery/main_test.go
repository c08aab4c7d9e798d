// Package delivery makes a release of this repository and looks at what it consists of,
// with the programs of those who will use it: docker, podman, dpkg.
package delivery

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a program may take that is not known to need longer.
const patience = 2 * time.Minute

// mustRunAll makes a skipped test a failed one, as in CI.
var mustRunAll = os.Getenv("DRAINIT_TEST_ALL") == "1"

// base is the folder that all which the tests make is in.
var base string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) (status int) {
	var err error
	if base, err = os.MkdirTemp("", "drainit-delivery-"); err != nil {
		fmt.Fprintln(os.Stderr, "cannot make a folder:", err)
		return 1
	}
	defer os.RemoveAll(base)
	// The clone may be another user's, as in CI.
	config := filepath.Join(base, "gitconfig")
	if err := os.WriteFile(config, []byte("[safe]\n\tdirectory = *\n[user]\n\tname = test\n\temail = test@localhost\n"), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("GIT_CONFIG_GLOBAL", config)
	return m.Run()
}

func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			skip(t, "needs the program "+program)
		}
	}
}

func skip(t *testing.T, why string) {
	t.Helper()
	if mustRunAll {
		t.Fatal(why)
	}
	t.Skip(why)
}

// do runs a command that must succeed, in a folder, and returns its standard output.
func do(t *testing.T, dir string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	return output(t, cmd)
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := outputOf(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func outputOf(cmd *exec.Cmd) (string, error) {
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Start()
	if err == nil {
		defer time.AfterFunc(2*patience, func() { _ = cmd.Process.Kill() }).Stop()
		err = cmd.Wait()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, stdout.String(), stderr.String())
	}
	return strings.TrimSpace(stdout.String()), err
}

// cloneTo makes a clone of this repository, without its tags, so that the version is
// known. What is not committed is a commit in it: a new file once it has been added.
func cloneTo(dir string) error {
	const script = `set -e
		git clone -q "$(git rev-parse --show-toplevel)" "$1"
		git diff HEAD --binary >"$1/.git/changes"
		cd "$1"
		git tag | xargs -r git tag -d >/dev/null
		[ ! -s .git/changes ] || { git apply --index .git/changes && git commit -qm changes; }`
	_, err := outputOf(exec.Command("sh", "-c", script, "sh", dir))
	return err
}

// released is a release that the tests share: of this machine's architecture and another.
var released struct {
	once       sync.Once
	clone, dir string
	err        error
}

// arches are the architectures of the shared release. The first is this machine's.
func arches() []string {
	if runtime.GOARCH == "arm64" {
		return []string{"arm64", "amd64"}
	}
	return []string{runtime.GOARCH, "arm64"}
}

// release is the folder of the shared release.
func release(t *testing.T) string {
	t.Helper()
	needClone(t)
	s := &released
	s.once.Do(func() {
		s.clone, s.dir = filepath.Join(base, "clone"), filepath.Join(base, "release")
		if s.err = cloneTo(s.clone); s.err == nil {
			s.err = makeRelease(s.clone, s.dir, arches()...)
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.dir
}

// needClone asks for what a release is made of and with.
func needClone(t *testing.T) {
	t.Helper()
	need(t, "git", "go", "bash", "sha256sum")
	if exec.Command("git", "rev-parse", "HEAD").Run() != nil {
		skip(t, "needs a clone of the repository")
	}
}

func makeRelease(clone, dir string, arches ...string) error {
	_, err := outputOf(exec.Command(filepath.Join(clone, ".ci/release"), append([]string{dir}, arches...)...))
	return err
}

// version is the shared release's, as its files name it.
func version(t *testing.T) string {
	t.Helper()
	line := do(t, release(t), "./drainit-linux-"+arches()[0], "--version")
	words := strings.Fields(line)
	if len(words) < 2 {
		t.Fatalf("version line %q", line)
	}
	return strings.TrimPrefix(words[1], "v")
}

// read is a file of the shared release.
func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(release(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// waitFor asks again and again until ask has no error.
func waitFor(what string, ask func() error) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := ask()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.Join(errors.New("waited in vain for "+what), err)
		}
	}
}
