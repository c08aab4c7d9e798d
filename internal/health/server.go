// Package health answers the probes of a platform: /healthz and /readyz.
//
// It owns its socket and one thread. It knows the phase and nothing of the application,
// never looks at /proc, and its cost is bounded whatever its clients do. It is written
// over system calls, for net/http would double the binary and its attack surface.
package health

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/phase"
)

// Bounds of a probe. A client that goes beyond them is cut off, and no other is.
const (
	probesAtMost  = 16 // a new one displaces the oldest
	probeTime     = 2 * time.Second
	requestAtMost = 4 << 10
	retryAfter    = 100 * time.Millisecond // where there is no descriptor or no memory
	waitingAtMost = 1024                   // connections that the kernel keeps until they are accepted
)

// server answers probes, on one thread. No number of them takes another, or more memory.
type server struct {
	state    *State
	listener int
	conns    [probesAtMost]*conn
	open     int // the first so many connections are open, the oldest first
	polled   []unix.PollFd
	answer   []byte
}

// conn is one connection.
type conn struct {
	fd      int
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
	state.now.CompareAndSwap(nil, &view{word: phase.Starting.String()})
	s := &server{state: state, listener: listener}
	for i := range s.conns {
		s.conns[i] = new(conn)
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

// round waits for something to happen and acts upon it. A probe that has asked
// goes before a new one, which could displace it.
func (s *server) round() {
	s.polled = append(s.polled[:0], unix.PollFd{Fd: int32(s.listener), Events: unix.POLLIN})
	for _, c := range s.conns[:s.open] {
		s.polled = append(s.polled, unix.PollFd{Fd: int32(c.fd), Events: unix.POLLIN})
	}
	wait := -1 // for ever
	if s.open > 0 {
		wait = int(max(0, time.Until(s.conns[0].until)+time.Millisecond-1) / time.Millisecond)
	}
	if _, err := unix.Poll(s.polled, wait); err != nil { // a signal, or no memory: it may pass
		pause()
		return
	}
	now := time.Now()
	for i := s.open - 1; i >= 0; i-- { // which of them are open changes
		done := s.polled[1+i].Revents != 0 && s.receive(s.conns[i])
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

// accept takes one connection. It closes the oldest one if that one's descriptor is the
// only one to be had.
func (s *server) accept(now time.Time) {
	fd, _, errno := unix.Syscall6(unix.SYS_ACCEPT4, uintptr(s.listener), 0, 0, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0, 0)
	switch {
	case errno == 0:
		s.begin(int(fd), now)
	case errno == unix.EAGAIN, errno == unix.EINTR, errno == unix.ECONNABORTED: // it has gone
	case s.open > 0:
		s.close(0)
	default:
		pause() // else poll(2) would say again at once that it waits
	}
}

// begin hears a new connection, in the place of the oldest if all are taken.
func (s *server) begin(fd int, now time.Time) {
	if s.open == probesAtMost {
		s.close(0)
	}
	c := s.conns[s.open]
	c.fd, c.until, c.got = fd, now.Add(probeTime), 0
	s.open++
	if s.receive(c) { // most have asked by now
		s.close(s.open - 1)
	}
}

// receive reads from a probe, and answers once the request is complete. It returns true when
// the connection is done: only a client that sends more than a request may miss the answer.
func (s *server) receive(c *conn) (done bool) {
	n, err := unix.Read(c.fd, c.request[c.got:])
	if err != nil || n == 0 {
		return err != unix.EAGAIN && err != unix.EINTR
	}
	c.got += n
	s.answer = appendAnswer(s.answer[:0], c.request[:c.got], s.state.now.Load())
	if len(s.answer) == 0 {
		return false // the rest is still to come
	}
	_, _ = unix.Write(c.fd, s.answer)
	_ = unix.Shutdown(c.fd, unix.SHUT_WR) // an end, and not the reset of what is unread
	return true
}

// close closes a connection, which is the first of the free ones then.
func (s *server) close(i int) {
	c := s.conns[i]
	unix.Close(c.fd)
	s.open--
	copy(s.conns[i:], s.conns[i+1:s.open+1])
	s.conns[s.open] = c
}
