package harness

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// ServerDir makes a folder that the user can write to and all can look into,
// which t.TempDir's parent does not allow.
func ServerDir(t *testing.T, uid int) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "drainit-nginx-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	err = errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "root"), 0o755))
	if os.Getuid() == 0 {
		err = errors.Join(err, os.Chown(dir, uid, uid))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// WriteFile makes a file that every user may read.
func WriteFile(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// ReservePort returns a port on the loopback that is the test's own: a socket
// that is bound and does not listen keeps it from others, but not from a server
// which, like it, has SO_REUSEADDR (socket(7)).
func ReservePort(t *testing.T) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	sa, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return sa.(*unix.SockaddrInet4).Port
}
