// Package ready asks whether a worker is ready, by the file or the port that it shows.
//
// A file system or a full backlog may keep it waiting, so the supervisor's loop must not ask.
package ready

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Condition is what a ready worker shows. The zero Condition always holds.
type Condition struct {
	File string // an absolute path
	Port int    // of 127.0.0.1 or ::1
}

// Holds reports whether the file exists and the port accepts connections, as far as they are given.
func (c Condition) Holds() bool {
	if c.File != "" && unix.Stat(c.File, new(unix.Stat_t)) != nil {
		return false
	}
	return c.Port == 0 || accepts(unix.AF_INET, &syscall.SockaddrInet4{Port: c.Port, Addr: [4]byte{127, 0, 0, 1}}) ||
		accepts(unix.AF_INET6, &syscall.SockaddrInet6{Port: c.Port, Addr: [16]byte{15: 1}})
}

// accepts reports whether a connection is accepted within 0.1 s. Where no process listens, the kernel may
// connect a socket to itself, if it chose that port for it.
func accepts(family int, at syscall.Sockaddr) bool {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false // no IPv6
	}
	defer unix.Close(fd)
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Usec: 100_000}) // of connect(2)
	_ = syscall.Connect(fd, at)
	own, _ := syscall.Getsockname(fd)
	peer, err := syscall.Getpeername(fd) // an error if it is not connected
	return err == nil && fmt.Sprint(own) != fmt.Sprint(peer)
}
