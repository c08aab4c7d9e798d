package harness

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// go test runs several packages at once. A test that measures time has the machine for
// itself: those of the other packages hold a lock together while they run, and it holds it
// alone. A second lock, which each takes first, lets none of the others begin meanwhile.
var slot = struct {
	sync.Mutex
	holders map[string]bool // the tests of this package that hold the lock, by name
	alone   bool
}{holders: make(map[string]bool)}

// within is whether the tests run within another one, which holds the lock for them.
var within = os.Getenv("DRAINTEST") != ""

// Alone keeps the tests of all packages from running beside this one. A test that is
// parallel must not call it: its own package's would wait for it, and it for them.
func Alone(t *testing.T) {
	t.Helper()
	if within {
		return
	}
	turn, all := lock(t, unix.LOCK_EX)
	slot.alone = true
	t.Cleanup(func() {
		slot.alone = false
		all.Close()
		turn.Close()
	})
}

// share holds the lock together with the others, from the first start of an init on to the
// end of the test. What a test holds is held for its subtests.
func share(t *testing.T) {
	t.Helper()
	if within || slot.alone {
		return
	}
	slot.Lock()
	held := false
	for name := t.Name(); name != "" && !held; name = name[:max(strings.LastIndexByte(name, '/'), 0)] {
		held = slot.holders[name]
	}
	if !held {
		slot.holders[t.Name()] = true
	}
	slot.Unlock()
	if held {
		return
	}
	turn, all := lock(t, unix.LOCK_SH)
	turn.Close()
	t.Cleanup(func() {
		all.Close()
		slot.Lock()
		defer slot.Unlock()
		delete(slot.holders, t.Name())
	})
}

// lock takes the second lock, and the first one as it is told to. They are those of two
// folders: nothing is left behind by them.
func lock(t *testing.T, how int) (second, first *os.File) {
	t.Helper()
	return flocked(t, filepath.Dir(testsDir), unix.LOCK_EX), flocked(t, testsDir, how)
}

func flocked(t *testing.T, dir string, how int) *os.File {
	t.Helper()
	file, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for {
		switch err := unix.Flock(int(file.Fd()), how); {
		case err == nil:
			return file
		case !errors.Is(err, unix.EINTR):
			t.Fatal(err)
		}
	}
}
