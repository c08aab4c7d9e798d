// Package delivery makes a release of this repository and looks at what it consists of,
// with the programs of those who will use it: docker, podman, dpkg.
package delivery

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"drainit/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// do runs a command that must succeed, in a folder, and returns its standard output.
func do(t *testing.T, dir string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	return harness.OutputOf(t, cmd)
}

// clone makes a clone of this repository, without its tags, so that the version is known. What is
// not committed is a commit in it: a new file once it has been added.
func clone(t *testing.T, dir string) {
	t.Helper()
	do(t, "", "sh", "-c", `set -e
		git clone -q "$(git rev-parse --show-toplevel)" "$1"
		git diff HEAD --binary >"$1/.git/changes"
		cd "$1"
		git tag | xargs -r git tag -d >/dev/null
		[ ! -s .git/changes ] || { git apply --index .git/changes && git commit -qm changes; }`, "sh", dir)
}

func makeRelease(t *testing.T, clone, dir string, arches ...string) {
	t.Helper()
	do(t, clone, append([]string{".ci/release", dir}, arches...)...)
}

// arches are the architectures of the shared release. The first is this machine's.
func arches() []string {
	if runtime.GOARCH == "arm64" {
		return []string{"arm64", "amd64"}
	}
	return []string{runtime.GOARCH, "arm64"}
}

// released is a release that the tests share: of this machine's architecture and another.
var released struct{ clone, dir string }

// release is the folder of the shared release.
func release(t *testing.T) string {
	t.Helper()
	needClone(t)
	if released.dir == "" {
		released.clone = filepath.Join(os.TempDir(), "clone")
		clone(t, released.clone)
		dir := filepath.Join(os.TempDir(), "release")
		makeRelease(t, released.clone, dir, arches()...)
		released.dir = dir
	}
	return released.dir
}

// needClone asks for what a release is made of and with. The clone may be another user's, as in CI.
func needClone(t *testing.T) {
	t.Helper()
	harness.Full(t)
	harness.Need(t, "git", "go", "bash", "sha256sum")
	settings := filepath.Join(os.TempDir(), "gitconfig")
	harness.WriteFile(t, settings, []byte("[safe]\n\tdirectory = *\n[user]\n\tname = test\n\temail = test@localhost\n"))
	os.Setenv("GIT_CONFIG_GLOBAL", settings)
	if exec.Command("git", "rev-parse", "HEAD").Run() != nil {
		harness.Skip(t, "needs a clone of the repository")
	}
}

// version is the shared release's, as its files name it.
func version(t *testing.T) string {
	t.Helper()
	words := strings.Fields(do(t, release(t), "./drainit-linux-"+arches()[0], "--version"))
	if len(words) < 2 {
		t.Fatalf("version line %q", words)
	}
	return strings.TrimPrefix(words[1], "v")
}

// read is a file of the shared release.
func read(t *testing.T, name string) []byte {
	t.Helper()
	return []byte(harness.TextOf(t, filepath.Join(release(t), name)))
}
