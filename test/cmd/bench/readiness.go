package main

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// staying is a worker that handles TERM and TSTP, and stays.
var staying = []string{"/bin/sh", "-c", "trap : TERM TSTP; echo >&3; while :; do sleep 60; done"}

// readyAtMost is how long after a signal a readiness probe may succeed.
const readyAtMost = 50 * time.Millisecond

// measureReadiness takes the time from a signal to drainit to the end of the first readiness
// probe that fails.
func (b *bench) measureReadiness() error {
	for _, by := range []struct {
		name string
		sig  unix.Signal
	}{{"a stop signal", unix.SIGTERM}, {"TSTP", unix.SIGTSTP}} {
		var took []time.Duration
		for range b.ways {
			d, err := timeReadiness(b.inits[own].argv[0], by.sig)
			if err != nil {
				return fmt.Errorf("readiness after %s: %w", by.name, err)
			}
			took = append(took, d)
		}
		b.ownTime("from "+by.name+" to a readiness probe that fails, p50", took, 0.5, readyAtMost)
		b.ownTime("the same, slowest", took, 1, 0)
	}
	return nil
}

// timeReadiness is one such time.
func timeReadiness(drainit string, sig unix.Signal) (time.Duration, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	addr := l.Addr().String() // which nothing listens at from now on
	l.Close()
	s, err := spawnReady(slices.Concat([]string{drainit, "--health-addr=" + addr, "--"}, staying))
	if err != nil {
		return 0, err
	}
	defer s.end()
	if _, err := probeUntil(addr, true); err != nil {
		return 0, err
	}
	begin := now()
	if err := s.signal(sig); err != nil {
		return 0, err
	}
	at, err := probeUntil(addr, false)
	return at - begin, err
}

// probeUntil makes readiness probes until one succeeds, or fails, and returns when it ended.
func probeUntil(addr string, ready bool) (at time.Duration, err error) {
	for began := now(); now()-began < time.Minute; {
		status, err := probe(addr)
		if err != nil && ready { // it does not listen yet
			time.Sleep(time.Millisecond)
			continue
		}
		if err != nil || (status == "200") == ready {
			return now(), err
		}
	}
	return 0, fmt.Errorf("no probe with ready %t in a minute", ready)
}

// probe is one readiness probe: its status.
func probe(addr string) (status string, err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /readyz HTTP/1.0\r\n\r\n"); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	words := strings.Fields(string(answer))
	if err != nil || len(words) < 2 {
		return "", fmt.Errorf("the answer is %q (%w)", answer, err)
	}
	return words[1], nil
}
