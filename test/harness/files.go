package harness

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Must ends a test by an error of what it is built of.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TextOf is what a file has. A test that can't read it ends.
func TextOf(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	Must(t, err)
	return string(b)
}

// SoFar is what a file has by now: nothing if it is not there yet.
func SoFar(path string) string { b, _ := os.ReadFile(path); return string(b) }

// Number is the number that a text is.
func Number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(text))
	Must(t, err)
	return n
}

// ShortDir is a t.TempDir with a short name: those are too long for the sockets that some keep there.
func ShortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "drainit-")
	Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// WriteFile makes a file that every user may read.
func WriteFile(t *testing.T, name, content string) {
	t.Helper()
	Must(t, os.WriteFile(name, []byte(content), 0o644))
}

// WriteProgram writes a file for drainit to run. No other test may fork meanwhile:
// its child would hold the file open for writing, and the exec fail (ETXTBSY).
func WriteProgram(t *testing.T, dir, name string, mode os.FileMode, content string) string {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	path := filepath.Join(dir, name)
	Must(t, errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chmod(path, mode)))
	return path
}

// ReservePort returns a port on the loopback that is the test's own: a socket
// that is bound and does not listen keeps it from others, but not from a server
// which, like it, has SO_REUSEADDR (socket(7)).
func ReservePort(t *testing.T) int {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	Must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	Must(t, errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})))
	sa, err := unix.Getsockname(fd)
	Must(t, err)
	return sa.(*unix.SockaddrInet4).Port
}

// Listens reports whether a server listens at an address.
func Listens(addr string) bool {
	conn, err := net.Dial("tcp", addr)
	return err == nil && conn.Close() == nil
}

// Pipe is a pipe that the test holds the write end of: what reads from it can
// be released by closing that.
func Pipe(t *testing.T) (r, w *os.File) {
	r, w, err := os.Pipe()
	Must(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// FullPipe is a pipe that has no room left, and that is not read.
func FullPipe(t *testing.T) *os.File {
	_, w := Pipe(t)
	size, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize())
	Must(t, err)
	_, err = w.Write(make([]byte, size))
	Must(t, err)
	return w
}

// BadStderr are the ways in which standard error takes no line.
func BadStderr(t *testing.T) map[string]Launch {
	read, broken := Pipe(t)
	read.Close()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	Must(t, err)
	t.Cleanup(func() { full.Close() })
	return map[string]Launch{"a full pipe": {Stderr: FullPipe(t)}, "a broken pipe": {Stderr: broken},
		"a full disk": {Stderr: full},
		"closed":      {Setup: Setup{CloseStderr: true}}}
}

// Java compiles a program in Java, once, and returns its start.
func Java(t *testing.T, source string) []string {
	Need(t, "java", "javac")
	main := strings.TrimSuffix(filepath.Base(source), ".java")
	dir := filepath.Join(filepath.Dir(DrainitBin), "java", main)
	compiling.Lock()
	defer compiling.Unlock()
	if _, err := os.Stat(dir); err != nil {
		OutputOf(t, exec.Command("javac", "-nowarn", "-d", dir, source))
	}
	return []string{"java", "-Xshare:auto", "-cp", dir, main}
}

var compiling sync.Mutex
