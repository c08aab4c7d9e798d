package harness

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Alone keeps the tests of other packages that measure time from running beside this one:
// go test runs several packages at once. The lock is a folder's: nothing is left behind by
// it. Other tests take none, so that no test waits for one that waits for it. A test that is
// parallel must not call it: another one of its package may hold the lock and wait.
func Alone(t *testing.T) {
	t.Helper()
	dir, err := os.Open(testsDir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Flock(int(dir.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
}
