package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"drainit/test/harness/cgroup"
)

// NewCgroup makes a cgroup whose CPU time ("cpu") or processes and threads ("pids") can be limited, if
// that is wanted. The test is skipped where none can be made.
func NewCgroup(t *testing.T, controller ...string) (dir string) {
	NeedRoot(t)
	dir, err := cgroup.Make(fmt.Sprintf("drainit-test-%d-%d", os.Getpid(), launches.Add(1)),
		strings.Join(controller, ""))
	if err != nil {
		Skip(t, err.Error())
	}
	t.Cleanup(func() { removeWhenEmpty(t, dir) })
	return dir
}

// removeWhenEmpty removes a cgroup, which is busy until the last in it has been waited for.
func removeWhenEmpty(t *testing.T, dir string) {
	WaitUntil(t, "the cgroup "+dir+" is empty", func() bool {
		err := os.Remove(dir)
		return err == nil || errors.Is(err, fs.ErrNotExist)
	})
}

// RemoveCgroups removes a cgroup that no process is in any more, and those below
// it, from each hierarchy that has it.
func RemoveCgroups(t *testing.T, path string) {
	for _, top := range cgroup.At(path) {
		for _, dir := range cgroup.Tree(top) {
			removeWhenEmpty(t, dir)
		}
	}
}

// Joining is the beginning of a command line whose rest joins the cgroup with this folder first.
func Joining(dir string) []string {
	return []string{"/bin/sh", "-c", `echo 0 >"$0/cgroup.procs" && exec "$@"`, dir}
}
