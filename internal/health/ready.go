package health

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Condition is what a ready worker shows: a file or a port. The zero Condition always holds. A file system or
// a full backlog may make Holds wait, so the supervisor's loop must not call it.
type Condition struct {
	File string // an absolute path
	Port int    // of 127.0.0.1 or ::1
}

// String says what a worker has not shown.
func (c Condition) String() string {
	var awaited []string
	if c.File != "" {
		awaited = append(awaited, "there is no file "+c.File)
	}
	if c.Port != 0 {
		awaited = append(awaited, fmt.Sprintf("port %d on loopback does not accept", c.Port))
	}
	return strings.Join(awaited, ", or ")
}

// unanswering are the beginnings of the types of file systems that ask a server. The server may not answer.
var unanswering = []string{"fuse", "nfs", "cifs", "smb", "ceph"}

// Check returns an error if the file is on a file system that may not answer. A question that hangs in the
// kernel keeps PID 1, and so its container, from ending, even by SIGKILL. Check asks none of the file
// systems: it reads the mounts (proc_pid_mountinfo(5)). If /proc does not show them, nothing is wrong.
func (c Condition) Check() error {
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	if kind := unansweringKind(string(mounts), c.File, os.Readlink); kind != "" {
		return fmt.Errorf("--ready-file %s: it is on a file system of type %s, which may not answer, "+
			"and then PID 1 could not end: choose a file on a local one", c.File, kind)
	}
	return nil
}

// Doubt returns a warning if the folder of the file is not there, "" if it is. Call it after Check has
// passed: it asks the file system.
func (c Condition) Doubt() string {
	if _, err := os.Stat(filepath.Dir(c.File)); c.File == "" || !errors.Is(err, os.ErrNotExist) {
		return ""
	}
	const doubt = ": its folder is not there so far, so the worker must make it to be ready"
	return "--ready-file " + c.File + doubt
}

// unansweringKind returns the type of the first file system on the path to a file that may not answer, "" for
// none. mounts is the text of /proc/self/mountinfo. It checks the path from the root, part by part, so it
// reads no link on such a file system.
func unansweringKind(mounts, file string, readlink func(string) (string, error)) string {
	const mostLinks = 40 // path_resolution(7)
	for at, links := 1, 0; at <= len(file) && links < mostLinks; at++ {
		if at < len(file) && file[at] != '/' {
			continue
		}
		kind := kindOf(mounts, file[:at])
		begins := func(with string) bool { return strings.HasPrefix(kind, with) }
		if slices.ContainsFunc(unanswering, begins) {
			return kind
		}
		if to, err := readlink(file[:at]); err == nil {
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(file[:at]), to)
			}
			file, at, links = filepath.Clean(to+file[at:]), 0, links+1
		}
	}
	return ""
}

// kindOf returns the type of the file system that a path without links is on. For that of the root it returns
// "": without it nothing runs, and it is FUSE where a user has podman make it.
func kindOf(mounts, path string) (kind string) {
	longest := 0
	for line := range strings.Lines(mounts) {
		where, what, _ := strings.Cut(line, " - ")
		f, of := strings.Fields(where), strings.Fields(what)
		if len(f) < 5 || len(of) == 0 {
			continue
		}
		at := strings.TrimSuffix(strings.ReplaceAll(f[4], `\040`, " "), "/")
		if strings.HasPrefix(path+"/", at+"/") && at != "" && len(at) >= longest { // a later one covers it
			longest, kind = len(at), of[0]
		}
	}
	return kind
}

// Holds reports whether the file exists and the port accepts connections, as far as they are given.
func (c Condition) Holds() bool {
	if c.File != "" && unix.Stat(c.File, new(unix.Stat_t)) != nil {
		return false
	}
	v4 := syscall.SockaddrInet4{Port: c.Port, Addr: [4]byte{127, 0, 0, 1}}
	v6 := syscall.SockaddrInet6{Port: c.Port, Addr: [16]byte{15: 1}}
	return c.Port == 0 || accepts(unix.AF_INET, &v4) || accepts(unix.AF_INET6, &v6)
}

// accepts reports whether a connection is accepted within 0.1 s. If no process listens, the kernel may
// connect a socket to itself, because it chose that very port for it. That does not count.
func accepts(family int, at syscall.Sockaddr) bool {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false // no IPv6
	}
	defer unix.Close(fd)
	ofConnect := unix.Timeval{Usec: 100_000}
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &ofConnect)
	_ = syscall.Connect(fd, at)
	own, _ := syscall.Getsockname(fd)
	peer, err := syscall.Getpeername(fd) // an error if it is not connected
	return err == nil && fmt.Sprint(own) != fmt.Sprint(peer)
}
