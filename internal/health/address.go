package health

import (
	"fmt"
	"net/netip"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Address is where drainit listens for probes. The zero Address is none.
type Address struct {
	text string // as it was given
	at   netip.AddrPort
}

// ParseAddress reads an address such as "127.0.0.1:8080", or ":8080" or "8080" for all addresses,
// those of IPv4 too. localhost is the only name it takes: drainit has no resolver.
func ParseAddress(s string) (Address, error) {
	host, port, found := strings.Cut(s, ":")
	full := s
	switch {
	case !found:
		full = "[::]:" + s
	case host == "":
		full = "[::]" + s
	case host == "localhost":
		full = "127.0.0.1:" + port
	}
	at, err := netip.ParseAddrPort(full)
	if err != nil || at.Port() == 0 || at.Addr().Zone() != "" {
		return Address{}, fmt.Errorf("invalid value %q: want :8080 or 127.0.0.1:8080, "+
			"an address and not a name", s)
	}
	return Address{s, netip.AddrPortFrom(at.Addr().Unmap(), at.Port())}, nil
}

// listen returns a listening socket that no child inherits. Where the kernel has no IPv6, all
// addresses are those of IPv4. It uses package syscall's socket addresses, since those of x/sys/unix
// add 30 kB.
func listen(a Address) (fd int, err error) {
	ip, port := a.at.Addr(), int(a.at.Port())
	if ip.Is4() {
		return listenAt(unix.AF_INET, &syscall.SockaddrInet4{Port: port, Addr: ip.As4()})
	}
	fd, err = listenAt(unix.AF_INET6, &syscall.SockaddrInet6{Port: port, Addr: ip.As16()})
	if err != nil && ip.IsUnspecified() && err != unix.EADDRINUSE {
		return listenAt(unix.AF_INET, &syscall.SockaddrInet4{Port: port})
	}
	return fd, err
}

// listenAt returns errors without the name of the system call: the address is at fault.
func listenAt(family int, at syscall.Sockaddr) (int, error) {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	// Connections of the container before this one may still be about to end.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0) // fails for IPv4
	if err = syscall.Bind(fd, at); err == nil {
		err = unix.Listen(fd, backlog)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	// A connection is accepted once its request is there, so that a silent client takes no place.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, int(probeTime.Seconds()))
	return fd, nil
}
