package proc

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What comes before a part that is late does not add to the time that it is given: on a quiet
// machine one of three tries shows it.
func TestLateReadIsGivenUpInTime(t *testing.T) {
	quickest := time.Hour
	for range 3 {
		dir := t.TempDir()
		file, fifo := filepath.Join(dir, "file"), filepath.Join(dir, "fifo")
		if err := errors.Join(os.WriteFile(file, nil, 0o600), unix.Mkfifo(fifo, 0o600)); err != nil {
			t.Fatal(err)
		}
		var reader Reader
		began := time.Now()
		reader.readWithTimeout([]part{{file: file}, {file: fifo}})
		quickest = min(quickest, time.Since(began))
		if w, err := os.OpenFile(fifo, os.O_WRONLY, 0); err == nil { // the end of what is late
			w.Close()
		}
	}
	if quickest < lateAfter || quickest > lateAfter*3/2 {
		t.Errorf("given up after %v at the earliest, want %v", quickest, lateAfter)
	}
}

// A fifo without a writer takes as long to be read as a process that is stuck.
func TestReadsThatAreLateAreGivenUp(t *testing.T) {
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
	parts := []part{{file: before, at: 2, size: page}, {file: filepath.Join(dir, "none")}, {file: fifo}, {file: behind, size: page}}
	wanted := [][]byte{[]byte("fore"), nil, nil, nil}
	equal := func(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }
	var reader Reader
	began, goroutines := time.Now(), runtime.NumGoroutine()
	for deadline := began.Add(30 * time.Second); ; {
		pages := reader.readWithTimeout(parts)
		if equal(pages, wanted) {
			break
		}
		if !equal(pages, make([][]byte, 4)) || time.Now().After(deadline) { // the first is late on a busy machine
			t.Fatalf("read %q, want %q", pages, wanted)
		}
	}
	if took := time.Since(began); took < lateAfter {
		t.Errorf("gave up what is late after %v, want at least %v", took, lateAfter)
	}
	for range 100 {
		if pages := reader.readWithTimeout(parts); !equal(pages, make([][]byte, 4)) {
			t.Fatalf("read %q while another read is late", pages)
		}
	}
	if n := runtime.NumGoroutine() - goroutines; n > 1 {
		t.Errorf("%d goroutines more after 100 looks", n)
	}

	w, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.Close() // the end of what is late
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if pages := reader.readWithTimeout(parts[3:]); string(pages[0]) == "behind" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing is read when what was late is back")
		}
	}
}
