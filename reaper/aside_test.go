package reaper

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A fifo that nobody writes to takes as long to be read as a process that is stuck.
func TestReadAsideGivesUpWhatIsLate(t *testing.T) {
	dir := t.TempDir()
	before, fifo, behind := filepath.Join(dir, "before"), filepath.Join(dir, "fifo"), filepath.Join(dir, "behind")
	for _, file := range []string{before, behind} {
		if err := os.WriteFile(file, []byte(filepath.Base(file)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	paths := []string{before, fifo, filepath.Join(dir, "none"), behind}
	// On a busy machine another may be late, too: then it is read at the next look.
	look := func() {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); ; {
			pages := readAside(paths)
			if len(pages) != len(paths) || pages[1] != nil || pages[2] != nil {
				t.Fatalf("read %q", pages)
			}
			if string(pages[0]) == "before" && string(pages[3]) == "behind" {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("never read but %q", pages)
			}
		}
	}
	began, goroutines := time.Now(), runtime.NumGoroutine()
	look()
	if took := time.Since(began); took < lateAfter {
		t.Errorf("gave up what is late after %v, want at least %v", took, lateAfter)
	}
	for range 100 {
		look()
	}
	if n := runtime.NumGoroutine() - goroutines; n > 10 {
		t.Errorf("%d goroutines more after 100 looks: what is late is read again and again", n)
	}

	w, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := w.WriteString("now"); err != nil {
			t.Fatal(err)
		}
		if pages := readAside(paths); bytes.HasPrefix(pages[1], []byte("now")) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("what is not late any more is not read again")
		}
	}
}
