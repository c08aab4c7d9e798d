package rollout

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Jobs take from shortest to longest. Each has its effect, such as a mail that is sent, when half
// of it is over.
const (
	shortest = 2 * time.Second
	longest  = 4 * time.Second
)

// job is one that a worker was given, perhaps several times.
type job struct {
	length  time.Duration
	taken   time.Time // when it was given last
	effects int
}

// counts are what came of the jobs.
type counts struct {
	jobs        int // that a worker was given
	done        int
	interrupted int // how often a worker was gone before its job was done
	twice       int // jobs whose effect came more than once
}

func (c counts) neverDone() int { return c.jobs - c.done }

// queue has jobs without end, until it is closed. A worker has a connection for each job that it
// does at a time, and writes lines: "take", which is answered with the job's milliseconds or 0,
// "effect" and "done". A job is interrupted if its connection ends before it is done.
type queue struct {
	listener net.Listener
	lease    time.Duration // after which an interrupted job is given again, 0 for never

	mu     sync.Mutex
	closed bool
	open   int    // jobs that are in flight or will be given again
	again  []*job // those whose lease has ended
	counts counts
}

// listen opens a queue on a Unix socket.
func listen(socket string, lease time.Duration) (*queue, error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("cannot open the queue: %w", err)
	}
	q := &queue{listener: l, lease: lease}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // the listener was closed
			}
			go q.serve(conn)
		}
	}()
	return q, nil
}

// serve talks to a worker until that ends the connection.
func (q *queue) serve(conn net.Conn) {
	defer conn.Close()
	var j *job
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		q.mu.Lock()
		switch lines.Text() {
		case "take":
			length := int64(0)
			if j = q.take(); j != nil {
				length = j.length.Milliseconds()
			}
			fmt.Fprintln(conn, length) // if it fails, there are no more lines
		case "effect":
			if j.effects++; j.effects == 2 {
				q.counts.twice++
			}
		case "done":
			q.counts.done++
			q.open--
			j = nil
		}
		q.mu.Unlock()
	}
	if j != nil {
		q.interrupt(j)
	}
}

// take returns a job whose lease has ended, or a new one, or nil.
func (q *queue) take() (j *job) {
	switch {
	case len(q.again) > 0:
		j, q.again = q.again[0], q.again[1:]
	case q.closed:
		return nil
	default:
		j = &job{length: shortest + rand.N(longest-shortest)}
		q.counts.jobs++
		q.open++
	}
	j.taken = time.Now()
	return j
}

// interrupt notes that a job was interrupted. With a lease it is given again when that has ended.
func (q *queue) interrupt(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.counts.interrupted++
	if q.lease == 0 {
		q.open--
		return
	}
	time.AfterFunc(time.Until(j.taken.Add(q.lease)), func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.again = append(q.again, j)
	})
}

// drained ends the supply of new jobs, and reports whether no job is in flight or will be given again.
func (q *queue) drained() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	return q.open == 0
}

// count returns what came of the jobs up to now.
func (q *queue) count() counts {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.counts
}
