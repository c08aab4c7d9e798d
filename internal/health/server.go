// Package health answers the probes of a platform: /healthz and /readyz.
//
// It owns its socket and one thread. It knows the phase and nothing of the application,
// never looks at /proc, and its cost is bounded whatever its clients do. It is written
// over system calls, for net/http would double the binary and its attack surface.
package health

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/phase"
)

// State is what probes are answered. The loop publishes it and never waits for them;
// their server reads it.
type State struct{ value atomic.Uint32 }

// In the value, above the phase.
const (
	aliveBit   = 1 << 8
	stoppedBit = 1 << 9
)

// Publish sets what probes are answered from now on: the phase, and of the worker whether
// it lives and whether it is stopped (state T), so that it does no work.
func (h *State) Publish(p phase.Phase, alive, stopped bool) {
	value := uint32(p)
	if alive {
		value |= aliveBit
	}
	if stopped {
		value |= stoppedBit
	}
	h.value.Store(value)
}

func (h *State) read() view {
	value := h.value.Load()
	return view{phase.Phase(value & 0xff), value&aliveBit != 0, value&stoppedBit != 0}
}

// server answers probes, on one thread of its own: no number of them
// needs another, and all its memory is here.
type server struct {
	state             *State
	listener          int
	acceptPausedUntil time.Time // connections wait meanwhile
	conns             [probesAtMost]conn
	set               []unix.PollFd
	answer            []byte
}

// conn is one connection.
type conn struct {
	fd      int // -1: none
	until   time.Time
	request [requestAtMost]byte
	got     int // bytes of it
}

// Serve opens the address for probes and answers them until the process
// ends. Its thread has been started when it returns.
func Serve(at Address, state *State) error {
	listener, err := listen(at)
	if err != nil {
		return fmt.Errorf("--health-addr %s: %w", at.text, err)
	}
	s := &server{state: state, listener: listener}
	for i := range s.conns {
		s.conns[i].fd = -1
	}
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

// round waits for something to happen and acts upon it. Those that have asked
// go before a new one, which could displace them.
func (s *server) round() {
	now := time.Now()
	s.listPolled(now)
	_, err := unix.Poll(s.set, s.timeout(now))
	if err == unix.EINTR {
		return
	}
	if err != nil { // no memory: it may pass
		time.Sleep(retryAccept)
		return
	}
	now = time.Now()
	polled := s.set[1:]
	for i := range s.conns {
		c := &s.conns[i]
		if c.fd < 0 {
			continue
		}
		if polled[0].Revents != 0 {
			s.receive(c)
		}
		if !now.Before(c.until) {
			c.close()
		}
		polled = polled[1:]
	}
	if s.set[0].Revents != 0 {
		s.accept(now)
	}
}

// listPolled lists what to wait for: the listener, and the probes in their order.
func (s *server) listPolled(now time.Time) {
	listener := unix.PollFd{Fd: int32(s.listener), Events: unix.POLLIN}
	if now.Before(s.acceptPausedUntil) {
		listener.Fd = -1 // poll(2) takes no notice of it
	}
	s.set = append(s.set[:0], listener)
	for i := range s.conns {
		if fd := s.conns[i].fd; fd >= 0 {
			s.set = append(s.set, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
	}
}

// timeout is how long poll(2) may wait, in ms; -1 where there is no client.
func (s *server) timeout(now time.Time) int {
	var first time.Time
	if now.Before(s.acceptPausedUntil) {
		first = s.acceptPausedUntil
	}
	if c := s.oldest(); c != nil && (first.IsZero() || c.until.Before(first)) {
		first = c.until
	}
	if first.IsZero() {
		return -1
	}
	return int(max(0, first.Sub(now)+time.Millisecond-1) / time.Millisecond)
}

// oldest is the probe that came first, nil where there is none.
func (s *server) oldest() (oldest *conn) {
	for i := range s.conns {
		if c := &s.conns[i]; c.fd >= 0 && (oldest == nil || c.until.Before(oldest.until)) {
			oldest = c
		}
	}
	return oldest
}

// accept takes one connection, in the place of the oldest if all are taken, or
// if that one's descriptor is the only one to be had.
func (s *server) accept(now time.Time) {
	fd, _, errno := unix.Syscall6(unix.SYS_ACCEPT4, uintptr(s.listener), 0, 0, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0, 0)
	switch errno {
	case 0:
	case unix.EAGAIN, unix.EINTR, unix.ECONNABORTED: // it has gone
		return
	default:
		if c := s.oldest(); c != nil {
			c.close()
		} else {
			s.acceptPausedUntil = now.Add(retryAccept) // else poll(2) would say again at once that it waits
		}
		return
	}
	c := s.place()
	c.fd, c.until, c.got = int(fd), now.Add(probeTime), 0
	s.receive(c) // most have asked by now
}

func (s *server) place() *conn {
	for i := range s.conns {
		if c := &s.conns[i]; c.fd < 0 {
			return c
		}
	}
	c := s.oldest()
	c.close()
	return c
}

// receive takes what has come from a probe, and answers once it is all. The buffer
// of a new connection has room for the answer. What comes behind a request is
// not read: only one that sends more than was asked for may miss the answer.
func (s *server) receive(c *conn) {
	n, err := unix.Read(c.fd, c.request[c.got:])
	if err == unix.EAGAIN || err == unix.EINTR {
		return
	}
	if err != nil || n == 0 {
		c.close()
		return
	}
	c.got += n
	s.answer = appendAnswer(s.answer[:0], c.request[:c.got], s.state.read())
	if len(s.answer) == 0 {
		return // and wait for the rest
	}
	_, _ = unix.Write(c.fd, s.answer)
	_ = unix.Shutdown(c.fd, unix.SHUT_WR) // an end, and not the reset of what is unread
	c.close()
}

func (c *conn) close() {
	if c.fd >= 0 {
		unix.Close(c.fd)
		c.fd = -1
	}
}
