package health

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// skip skips a test, or fails it where all must run, as in CI.
func skip(t *testing.T, why string, err error) {
	t.Helper()
	if os.Getenv("DRAINIT_TEST_ALL") == "1" {
		t.Fatal(why, err)
	}
	t.Skip(why, err)
}

// listening returns a port at which an address listens. One that is full has no room for a connection in its backlog:
// it hangs.
func listening(t *testing.T, address string, full bool) (port int) {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		skip(t, "needs IPv6 on the loopback: ", err)
	}
	t.Cleanup(func() { listener.Close() })
	if full {
		l := listener.(*net.TCPListener)
		raw, err := l.SyscallConn()
		err2 := raw.Control(func(fd uintptr) { _ = unix.Listen(int(fd), 0) })
		conn, err3 := net.Dial("tcp", l.Addr().String())
		if err := errors.Join(err, err2, err3); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
	}
	return listener.Addr().(*net.TCPAddr).Port
}

func TestHolds(t *testing.T) {
	there := filepath.Join(t.TempDir(), "up")
	if err := os.WriteFile(there, nil, 0); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		file, at string // the address that listens
		want     bool
	}{
		"none":                     {"", "", true},
		"file":                     {there, "", true},
		"no file":                  {there + "2", "", false},
		"IPv4":                     {"", "127.0.0.1", true},
		"IPv6":                     {"", "::1", true},
		"all addresses":            {"", "0.0.0.0", true},
		"another address":          {"", "127.0.0.2", false},
		"full backlog":             {"", "127.0.0.1", false},
		"file and port":            {there, "127.0.0.1", true},
		"file, and another's port": {there, "127.0.0.2", false},
		"port and no file":         {there + "2", "127.0.0.1", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := Condition{File: tt.file}
			if tt.at != "" {
				c.Port = listening(t, tt.at, name == "full backlog")
			}
			if got := c.Holds(); got != tt.want {
				t.Errorf("%+v: %v", c, got)
			}
		})
	}
}

// A socket may get the very port that it connects to, and the connection be to itself: here there is but one.
func TestConnectionToItselfIsNone(t *testing.T) {
	runtime.LockOSThread() // its network ends with the test
	const only = 40000
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		skip(t, "needs root, for a network namespace: ", err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	lo, _ := unix.NewIfreq("lo")
	lo.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", []byte("40000 40000"), 0); err != nil {
		skip(t, "needs to set a network's range of ports: ", err)
	}
	if (Condition{Port: only}).Holds() {
		t.Error("it holds")
	}
}

// The file system that may not answer is known by the mounts, and by the links above it.
func TestFileSystemsThatMayNotAnswer(t *testing.T) {
	const root = "22 1 0:20 / / rw,relatime - fuse.fuse-overlayfs fuse-overlayfs rw\n" // podman's, of an ordinary user
	const mounts = root + `23 22 0:21 / /proc rw - proc proc rw
24 22 0:22 / /run rw shared:3 - tmpfs tmpfs rw
25 24 0:23 / /run/s3 rw - fuse.s3fs s3 rw
26 22 0:24 / /my\040data rw master:4 propagate_from:2 - nfs4 server:/x rw
27 26 0:25 / /my\040data/local rw - ext4 /dev/sda1 rw
28 22 0:26 / /covered rw - cifs //server/x rw
29 28 0:27 / /covered rw - tmpfs tmpfs rw
30 22 0:28 / /home rw - ceph server:/ rw
`
	links := map[string]string{"/var/run": "/run", "/srv": "my data", "/run/up": "../home/app/up", "/ring": "ring", "/my data/link": "/run"}
	readlink := func(path string) (string, error) {
		if path == "/my data/link" {
			t.Error("a link is read where it may hang")
		}
		if to, is := links[path]; is {
			return to, nil
		}
		return "", os.ErrInvalid
	}
	for file, want := range map[string]string{
		"": "", "/up": "", "/tmp/up": "", "/run/ready": "", "/run/s3/up": "fuse.s3fs", "/run/s3": "fuse.s3fs", "/run/s3x": "",
		"/my data/up": "nfs4", "/my data/local/up": "nfs4", "/my data/link/up": "nfs4", "/covered/up": "", "/home/app/up": "ceph",
		"/var/run/ready": "", "/var/run/s3/up": "fuse.s3fs", "/srv/up": "nfs4", "/run/up": "ceph", "/ring/up": "",
	} {
		if got := unansweringKind(mounts, file, readlink); got != want {
			t.Errorf("%q: %q, want %q", file, got, want)
		}
	}
	if got := unansweringKind("", "/run/s3/up", readlink); got != "" {
		t.Errorf("without /proc: %q", got)
	}
}
