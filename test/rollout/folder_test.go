package rollout

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A run that was killed has left its folder. The next one removes it, and neither that of a run that lives nor what is
// no run's.
// It is not parallel: what another test forks has the lock until it executes a program.
func TestFolderOfAKilledRunIsRemoved(t *testing.T) {
	in := t.TempDir()
	killed, lock, err := makeFolder(in)
	file, link := filepath.Join(in, "drainit-rollout-file"), filepath.Join(in, "drainit-rollout-link")
	err2 := errors.Join(os.WriteFile(filepath.Join(killed, "image.tar"), nil, 0o600), os.WriteFile(file, nil, 0o600), os.Symlink(t.TempDir(), link))
	if err := errors.Join(err, err2, lock.Close()); err != nil { // closed, as by the kernel
		t.Fatal(err)
	}
	lives, lock, err := makeFolder(in)
	_, third, err2 := makeFolder(in)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	defer third.Close()
	there, err := filepath.Glob(filepath.Join(in, "*"))
	if want := slices.Sorted(slices.Values([]string{file, lives, link, third.Name()})); err != nil || !slices.Equal(there, want) {
		t.Errorf("there are %q, %v, want %q", there, err, want)
	}
}

func TestWhatTheClusterWouldNotSee(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, to := range hiding {
		link := filepath.Join(dir, filepath.Base(to))
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{to, link} {
			err := hidden(map[string]string{"the cache": path})
			if err == nil || !strings.Contains(err.Error(), "the cache is in "+to+", and must not be below "+to) {
				t.Errorf("%s: %v", path, err)
			}
		}
		if !strings.Contains(file("stage.sh"), " "+to) {
			t.Errorf("stage.sh hides no %s", to)
		}
	}
	if err := hidden(map[string]string{"the root": "/", "a program": "/bin/sh"}); err != nil {
		t.Error(err)
	}
}
