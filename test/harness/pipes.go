package harness

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// FullPipe is a pipe that has no room left, and that is not read.
func FullPipe(t *testing.T) *os.File {
	t.Helper()
	_, w := Pipe(t)
	size, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize())
	if err == nil {
		_, err = w.Write(make([]byte, size))
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func brokenPipe(t *testing.T) *os.File {
	t.Helper()
	r, w := Pipe(t)
	r.Close()
	return w
}

func devFull(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// BadStderr are the ways in which standard error takes no line.
var BadStderr = map[string]func(t *testing.T) Launch{
	"a full pipe":   func(t *testing.T) Launch { return Launch{Stderr: FullPipe(t)} },
	"a broken pipe": func(t *testing.T) Launch { return Launch{Stderr: brokenPipe(t)} },
	"a full disk":   func(t *testing.T) Launch { return Launch{Stderr: devFull(t)} },
	"closed":        func(*testing.T) Launch { return Launch{Setup: Setup{CloseStderr: true}} },
}
