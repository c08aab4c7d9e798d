// Package health answers the probes of a platform, /healthz and /readyz, and asks whether a worker is ready.
//
// It owns its socket and one thread. It never reads /proc, and its cost is bounded whatever its
// clients do. It uses system calls, since net/http would double the binary and its attack surface.
package health

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/title"
)

// Bounds of a probe. A client that goes beyond them is cut off, and no other is.
const (
	probesAtMost  = 16 // a new one displaces the oldest
	probeTime     = 2 * time.Second
	requestAtMost = 4 << 10
	retryAfter    = 100 * time.Millisecond // where there is no descriptor or no memory
	backlog       = 1024                   // connections that the kernel keeps until they are accepted
)

// server answers probes on one thread, in bounded memory.
type server struct {
	state    *State
	listener int
	conns    []conn // those that are open, the oldest first
	polled   []unix.PollFd
	answer   []byte
}

type conn struct {
	fd      int
	until   time.Time
	request [requestAtMost]byte
	got     int // bytes of it
}

// Serve answers probes at an address until the process ends. When it returns, its thread runs.
func Serve(at Address, state *State) error {
	listener, err := listen(at)
	if err != nil {
		return fmt.Errorf("--health-addr %s: %w", at.text, err)
	}
	state.CompareAndSwap(nil, new(title.State)) // starting
	s := &server{state: state, listener: listener, conns: make([]conn, 0, probesAtMost)}
	started := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(started)
		for {
			s.round()
		}
	}()
	<-started
	return nil
}

// round waits for events and handles them. A probe that has asked is answered before a new one is
// accepted, which could displace it.
func (s *server) round() {
	s.polled = append(s.polled[:0], unix.PollFd{Fd: int32(s.listener), Events: unix.POLLIN})
	for i := range s.conns {
		s.polled = append(s.polled, unix.PollFd{Fd: int32(s.conns[i].fd), Events: unix.POLLIN})
	}
	wait := -1 // for ever
	if len(s.conns) > 0 {
		wait = int(max(0, time.Until(s.conns[0].until)+time.Millisecond-1) / time.Millisecond)
	}
	if _, err := unix.Poll(s.polled, wait); err != nil { // a signal, or no memory: it may pass
		pause()
		return
	}
	now := time.Now()
	for i := len(s.conns) - 1; i >= 0; i-- { // backwards, as some are closed
		done := s.polled[1+i].Revents != 0 && s.receive(&s.conns[i])
		if done || !now.Before(s.conns[i].until) {
			s.close(i)
		}
	}
	if s.polled[0].Revents != 0 {
		s.accept(now)
	}
}

// pause waits without the Go runtime, which may want a thread for that.
func pause() { _, _ = unix.Poll(nil, int(retryAfter.Milliseconds())) }

// accept takes one connection, to be read in the next round. It closes the oldest one where
// there is no place for another, or no descriptor.
func (s *server) accept(now time.Time) {
	const flags = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	fd, _, errno := unix.Syscall6(unix.SYS_ACCEPT4, uintptr(s.listener), 0, 0, flags, 0, 0)
	switch {
	case errno == 0:
		if len(s.conns) == probesAtMost {
			s.close(0)
		}
		s.conns = append(s.conns, conn{fd: int(fd), until: now.Add(probeTime)})
	case errno == unix.EAGAIN, errno == unix.EINTR, errno == unix.ECONNABORTED: // it has gone
	case len(s.conns) > 0:
		s.close(0)
	default:
		pause() // else poll(2) would return at once
	}
}

// receive reads from a probe, and answers once the request is complete. It reports whether the connection can
// be closed.
func (s *server) receive(c *conn) (done bool) {
	n, err := unix.Read(c.fd, c.request[c.got:])
	if err != nil || n == 0 {
		return err != unix.EAGAIN && err != unix.EINTR
	}
	c.got += n
	s.answer = appendAnswer(s.answer[:0], c.request[:c.got], s.state.Load())
	if len(s.answer) == 0 {
		return false // the rest is still to come
	}
	_, _ = unix.Write(c.fd, s.answer)
	_ = unix.Shutdown(c.fd, unix.SHUT_WR) // else unread input makes it a reset
	return true
}

func (s *server) close(i int) {
	unix.Close(s.conns[i].fd)
	s.conns = slices.Delete(s.conns, i, i+1)
}
