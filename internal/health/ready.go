package health

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Accepts reports whether a port of 127.0.0.1 or ::1 accepts connections. A full backlog may make it wait, so
// the supervisor's loop must not call it.
func Accepts(port int) bool {
	v4 := syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
	v6 := syscall.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}}
	return accepts(unix.AF_INET, &v4) || accepts(unix.AF_INET6, &v6)
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
