package proc

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNoAnswer says that a read of /proc was given up: it waits for a lock that is held by a process that
// hangs in the kernel.
var ErrNoAnswer = errors.New("/proc does not answer: a process hangs in the kernel")

// Reader reads other processes on a thread beside the caller's. If a read hangs, that thread is left to it. A
// read hangs if it needs a lock of a process that hangs. For its stat, fd and exe that is so while it execs
// and closes a file on a file system that does not answer (fs/exec.c, exec_update_lock). For its cmdline and
// mem it is so while it is in mmap(2) or munmap(2) of such a file. Nothing but SIGKILL ends that wait. The
// zero Reader is ready. It must not be copied, and is for one goroutine.
type Reader struct {
	Given File       // the pipe that was the root's standard input, if it has another by now
	hung  []*reading // those that were given up and have not come back
}

// OwnInput returns the pipe at this process's standard input, the zero File if there is none.
func OwnInput() File { return openAt(os.Getpid(), "0").pipe() }

// MostHung is how many threads of a Reader may hang. Beyond that it reads nothing until one is back.
const MostHung = 4

// withTimeout runs a function that reads (do), on another thread, and returns what that returns. If a process
// does not answer, the function is given up and run again without that process. The error is ErrNoAnswer,
// ErrNoProc, or that of the function.
func withTimeout[T any](r *Reader, do func(g *reading) (T, error)) (got T, _ error) {
	for {
		g := r.begin()
		if g == nil {
			return got, ErrNoAnswer
		}
		var its T // one that was given up may still write it
		var err error
		go func() {
			defer close(g.done)
			runtime.LockOSThread() // the state of this thread shows whether it hangs
			defer runtime.UnlockOSThread()
			g.tid.Store(int32(unix.Gettid()))
			if err = checkProc(); err == nil {
				its, err = do(g)
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

// begin returns a reading that leaves out the places at which others hang. It returns nil if MostHung others
// do.
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
	pid  int
	part part
}

// part is what of a process is read. The kernel shows the two under locks of their own.
type part uint8

const (
	stat    part = iota
	details      // all that is not in its stat
)

// mayRead is called before each read of a file: it notes what is read next, and returns false if another
// reading hangs at that. If this reading was given up, mayRead does not return: the goroutine ends.
func (g *reading) mayRead(pid int, what part) bool {
	at := place{pid, what}
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

// A reading hangs if its thread has neither run nor waited for a processor, or for the Go runtime, in
// looksMost looks in a row.
const (
	looksApart = 10 * time.Millisecond
	looksMost  = 5
)

// wait waits for the end of a reading, and reports whether it has come. If not, the reading hangs: its thread
// has stood still for looksMost looks. A thread that waits for a processor does not stand still, as under a
// CPU limit. Nor does one in a futex: there the Go runtime parks it between two reads.
func (g *reading) wait() bool {
	var last status
	for still := 0; still < looksMost; still++ {
		select {
		case <-g.done:
			return true
		case <-time.After(looksApart):
		}
		tid := int(g.tid.Load())
		now, err := statusOf(tid) // a thread of our own answers
		if tid == 0 || err != nil || now.state == 'R' || now.switches != last.switches || isInFutex(now) {
			still, last = -1, now
		}
	}
	return false
}

// isInFutex reports whether a thread sleeps in futex(2). The Go runtime parks it there, and no read of /proc
// sleeps there.
func isInFutex(t status) bool {
	const time64 = 422 // futex_time64, of 32-bit architectures
	call, _ := callOf(t)
	return call.Sleeps && (call.Number == unix.SYS_FUTEX || call.Number == time64)
}

// giveUp ends a reading before its next read, and returns the place at which it hangs.
func (g *reading) giveUp() place {
	g.Lock()
	defer g.Unlock()
	g.givenUp = true
	return g.at
}
