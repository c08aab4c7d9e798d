package proc

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNoAnswer says that a read of /proc was given up: a process hangs in the kernel under
// a lock that the read waits for.
var ErrNoAnswer = errors.New("/proc does not answer: a process hangs in the kernel")

// Reader reads other processes on a thread beside the caller's, which is left to a read that
// hangs. What is read under a lock of the process hangs with it: its stat, fd and exe while it execs and
// closes a file on a file system that does not answer (fs/exec.c, exec_update_lock); its cmdline and mem
// while it is in mmap(2) or munmap(2) of such a file. Nothing but SIGKILL ends that wait. The zero Reader
// is ready. It must not be copied, and is for one goroutine.
type Reader struct {
	hung []*reading // that were given up, and are not back
}

// MostHung is how many threads of a Reader may hang. Beyond that it reads nothing until one is back.
const MostHung = 4

// beside makes a call that reads on another thread, and waits for it. It is made again without
// each process that does not answer. The error is ErrNoAnswer, ErrNoProc, or that of the call.
func beside[T any](r *Reader, call func(g *reading) (T, error)) (got T, _ error) {
	for {
		g := r.begin()
		if g == nil {
			return got, ErrNoAnswer
		}
		var its T // which one that was given up may still write
		var err error
		go func() {
			defer close(g.done)
			runtime.LockOSThread() // the state of this thread tells whether it hangs
			defer runtime.UnlockOSThread()
			g.tid.Store(int32(unix.Gettid()))
			if err = checkProc(); err == nil {
				its, err = call(g)
			}
		}()
		if g.wait() {
			return its, err
		}
		r.hung = append(r.hung, g)
		if g.giveUp() == (place{}) {
			return got, ErrNoAnswer
		}
	}
}

// begin returns a reading that leaves out what others hang at, nil where too many do.
func (r *Reader) begin() *reading {
	r.hung = slices.DeleteFunc(r.hung, func(h *reading) bool {
		select {
		case <-h.done:
			return true
		default:
			return false
		}
	})
	if len(r.hung) == MostHung {
		return nil
	}
	g := &reading{done: make(chan struct{})}
	for _, h := range r.hung {
		g.hangs = append(g.hangs, h.at)
	}
	return g
}

// reading is one pass over /proc on a thread of its own.
type reading struct {
	hangs []place      // what is not to be read
	tid   atomic.Int32 // of its thread, once it runs
	done  chan struct{}

	sync.Mutex
	at      place // what it reads
	givenUp bool
}

// place is what is read of which process: its stat or the rest. The zero place is none. A status is read
// under no lock.
type place struct {
	pid     int
	details bool
}

const stat, details = false, true

// reads notes what is read next, and reports whether it may be: it is not known to hang. A reading
// that was given up ends there.
func (g *reading) reads(pid int, details bool) bool {
	at := place{pid, details}
	if slices.Contains(g.hangs, at) {
		return false
	}
	g.Lock()
	defer g.Unlock()
	if g.givenUp {
		runtime.Goexit()
	}
	g.at = at
	return true
}

// A reading hangs if its thread has neither run nor waited for a processor, or for the Go runtime, in looksMost looks
// in a row.
const (
	looksApart = 10 * time.Millisecond
	looksMost  = 5
)

// wait waits for the end of a reading, and reports whether it has come: else the reading hangs. One
// that waits for a processor, as under a CPU limit, does not; nor one that is between two reads and waits in a futex
// until the runtime lets it run, which on a busy machine can be long after the looks.
func (g *reading) wait() bool {
	var last status
	for still := 0; still < looksMost; still++ {
		select {
		case <-g.done:
			return true
		case <-time.After(looksApart):
		}
		tid := int(g.tid.Load())
		now, err := readStatus(tid) // a thread of our own answers
		if tid == 0 || err != nil || now.state == 'R' || now.switches != last.switches || isInFutex(now) {
			still, last = -1, now
		}
	}
	return false
}

// isInFutex reports whether a thread sleeps in futex(2), where the Go runtime parks it, and no read of /proc does.
func isInFutex(t status) bool {
	const time64 = 422 // futex_time64, of 32-bit architectures
	call, _ := callOf(t)
	return call.Sleeps && (call.Number == unix.SYS_FUTEX || call.Number == time64)
}

// giveUp ends a reading at its next read, and returns at which it hangs.
func (g *reading) giveUp() place {
	g.Lock()
	defer g.Unlock()
	g.givenUp = true
	return g.at
}
