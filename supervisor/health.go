package supervisor

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// health is what probes are told. The loop sets it and never waits for them;
// their server reads it.
type health struct{ state atomic.Uint32 }

const workerLives = 1 << 8 // in the state, above the phase

func (h *health) show(phase Phase, lives bool) {
	state := uint32(phase)
	if lives {
		state |= workerLives
	}
	h.state.Store(state)
}

func (h *health) look() (phase Phase, lives bool) {
	state := h.state.Load()
	return Phase(state), state&workerLives != 0
}

// Bounds of a probe. Whoever goes beyond them is cut off, and nobody else is.
const (
	probesAtMost  = 16 // a new one displaces the oldest
	probeTime     = 2 * time.Second
	requestAtMost = 4 << 10
	retryAccept   = 100 * time.Millisecond // where no descriptor is to be had
	waitingAtMost = 1024                   // connections that the kernel keeps until they are accepted
)

// probeServer answers probes, on one thread of its own: no number of them
// needs another, and all its memory is here.
type probeServer struct {
	shown    *health
	listener int
	deafTill time.Time // connections wait meanwhile
	probes   [probesAtMost]probe
	set      []unix.PollFd
	answer   []byte
}

// probe is one connection.
type probe struct {
	fd      int // -1: none
	until   time.Time
	request [requestAtMost]byte
	got     int // bytes of it
}

// serveHealth opens the address for probes and answers them until the process
// ends. Its thread has been started when it returns.
func serveHealth(at Address, shown *health) error {
	listener, err := listen(at)
	if err != nil {
		return fmt.Errorf("--health-addr %s: %w", at.text, err)
	}
	s := &probeServer{shown: shown, listener: listener}
	for i := range s.probes {
		s.probes[i].fd = -1
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

// round waits for something to happen and acts upon it. Those who have asked
// go before a new one, which could displace them.
func (s *probeServer) round() {
	now := time.Now()
	s.listPolled(now)
	_, err := unix.Poll(s.set, s.timeout(now))
	if err == unix.EINTR {
		return
	}
	if err != nil { // no memory: there is nobody to tell, and it may pass
		time.Sleep(retryAccept)
		return
	}
	now = time.Now()
	polled := s.set[1:]
	for i := range s.probes {
		p := &s.probes[i]
		if p.fd < 0 {
			continue
		}
		if polled[0].Revents != 0 {
			s.hear(p)
		}
		if !now.Before(p.until) {
			p.close()
		}
		polled = polled[1:]
	}
	if s.set[0].Revents != 0 {
		s.accept(now)
	}
}

// listPolled lists what to wait for: the listener, and the probes in their order.
func (s *probeServer) listPolled(now time.Time) {
	listener := unix.PollFd{Fd: int32(s.listener), Events: unix.POLLIN}
	if now.Before(s.deafTill) {
		listener.Fd = -1 // poll(2) takes no notice of it
	}
	s.set = append(s.set[:0], listener)
	for i := range s.probes {
		if fd := s.probes[i].fd; fd >= 0 {
			s.set = append(s.set, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
	}
}

// timeout is how long poll(2) may wait, in ms; -1 where nobody is there.
func (s *probeServer) timeout(now time.Time) int {
	var first time.Time
	if now.Before(s.deafTill) {
		first = s.deafTill
	}
	if p := s.oldest(); p != nil && (first.IsZero() || p.until.Before(first)) {
		first = p.until
	}
	if first.IsZero() {
		return -1
	}
	return int(max(0, first.Sub(now)+time.Millisecond-1) / time.Millisecond)
}

// oldest is the probe that came first, nil where there is none.
func (s *probeServer) oldest() (oldest *probe) {
	for i := range s.probes {
		if p := &s.probes[i]; p.fd >= 0 && (oldest == nil || p.until.Before(oldest.until)) {
			oldest = p
		}
	}
	return oldest
}

// accept takes one connection, in the place of the oldest if all are taken, or
// if that one's descriptor is the only one to be had.
func (s *probeServer) accept(now time.Time) {
	fd, _, errno := unix.Syscall6(unix.SYS_ACCEPT4, uintptr(s.listener), 0, 0, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0, 0)
	switch errno {
	case 0:
	case unix.EAGAIN, unix.EINTR, unix.ECONNABORTED: // it has gone
		return
	default:
		if p := s.oldest(); p != nil {
			p.close()
		} else {
			s.deafTill = now.Add(retryAccept) // else poll(2) would say again at once that it waits
		}
		return
	}
	p := s.place()
	p.fd, p.until, p.got = int(fd), now.Add(probeTime), 0
	s.hear(p) // most have asked by now
}

func (s *probeServer) place() *probe {
	for i := range s.probes {
		if p := &s.probes[i]; p.fd < 0 {
			return p
		}
	}
	p := s.oldest()
	p.close()
	return p
}

// hear takes what has come from a probe, and answers once it is all. The buffer
// of a new connection has room for the answer. What comes behind a request is
// not read: only whoever sends more than was asked for may miss the answer.
func (s *probeServer) hear(p *probe) {
	n, err := unix.Read(p.fd, p.request[p.got:])
	if err == unix.EAGAIN || err == unix.EINTR {
		return
	}
	if err != nil || n == 0 {
		p.close()
		return
	}
	p.got += n
	phase, lives := s.shown.look()
	s.answer = appendAnswer(s.answer[:0], p.request[:p.got], phase, lives)
	if len(s.answer) == 0 {
		return // and wait for the rest
	}
	_, _ = unix.Write(p.fd, s.answer)
	_ = unix.Shutdown(p.fd, unix.SHUT_WR) // an end, and not the reset of what is unread
	p.close()
}

func (p *probe) close() {
	if p.fd >= 0 {
		unix.Close(p.fd)
		p.fd = -1
	}
}
