package proc

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNoAnswer says that a read of /proc was given up: the process hangs in the kernel, under
// a lock that the read waits for. It is over when the process goes on, or ends.
var ErrNoAnswer = errors.New("/proc does not answer: a process hangs in the kernel")

// Reader reads other processes, each time on a thread beside the caller's, which a read that
// hangs is left to. What is read under a lock of the process hangs with it: its stat, fd and exe
// while it execs and one of its files is to be closed on a file system that does not answer
// (fs/exec.c, exec_update_lock); its cmdline and mem while it is in mmap(2) or munmap(2) of
// such a file. Nothing but SIGKILL ends that wait.
//
// The zero Reader is ready. It must not be copied, and is for one goroutine.
type Reader struct {
	hung []*reading // that were given up, and are not back
}

// MostHung is how many threads of a Reader may hang. Beyond that it reads nothing until one is back.
const MostHung = 4

// A read is given up when its thread has neither run nor been about to for so many looks at
// it; when it has only waited for a processor, as under a CPU limit, for far more.
const (
	looksApart = 10 * time.Millisecond
	looksMost  = 5
	looksTurn  = 100
)

// beside makes a call that reads on another thread, with the results in the reading, and
// waits for it. It is made again without each process that does not answer. The error is
// ErrNoAnswer.
func (r *Reader) beside(call func(g *reading)) (*reading, error) {
	for {
		g := r.begin()
		if g == nil {
			return nil, ErrNoAnswer
		}
		go g.run(call)
		if g.wait() {
			return g, nil
		}
		r.hung = append(r.hung, g)
		if g.at == (place{}) {
			return nil, ErrNoAnswer
		}
	}
}

// begin returns a new reading, which leaves out what others hang at; nil where there are as many
// of those as may be.
func (r *Reader) begin() *reading {
	g := &reading{done: make(chan struct{})}
	left := r.hung[:0]
	for _, h := range r.hung {
		select {
		case <-h.done:
		default:
			if left = append(left, h); g.hang == nil {
				g.hang = make(map[int]depth)
			}
			g.hang[h.at.pid] = max(g.hang[h.at.pid], h.at.depth)
		}
	}
	clear(r.hung[len(left):])
	r.hung = left
	if len(left) == MostHung {
		return nil
	}
	g.careful = len(left) == MostHung-1
	return g
}

// reading is one pass over /proc on a thread of its own.
type reading struct {
	hang    map[int]depth // what is not to be read, of these pids
	careful bool          // it is the last one that may hang

	s   *Snapshot // the results, once it is done
	p   Process
	yes bool
	err error

	tid  atomic.Int32 // of its thread, once it runs
	done chan struct{}

	sync.Mutex
	at      place // what it reads
	givenUp bool
}

// place is what a read is of; the zero place is none of a process.
type place struct {
	pid   int
	depth depth
}

// depth is how much of a process is not to be read.
type depth uint8

const (
	nothing depth = iota
	closely       // all but its stat and status
	stat          // all but its status, which is read under no lock
)

func (g *reading) run(call func(g *reading)) {
	defer close(g.done)
	runtime.LockOSThread() // the time and the state of this thread tell whether it hangs
	defer runtime.UnlockOSThread()
	g.tid.Store(int32(unix.Gettid()))
	call(g)
}

// reads notes what is read next. A reading that was given up ends there.
func (g *reading) reads(pid int, d depth) {
	g.Lock()
	defer g.Unlock()
	if g.givenUp {
		runtime.Goexit()
	}
	g.at = place{pid, d}
}

// wait waits for the end of a reading, and reports whether it has come: else it is given up.
func (g *reading) wait() bool {
	timer := time.NewTimer(looksApart)
	defer timer.Stop()
	ran := time.Duration(-1)
	for still := 0; ; {
		select {
		case <-g.done:
			return true
		case <-timer.C:
		}
		tid := int(g.tid.Load())
		now := time.Duration(0)
		if tid != 0 {
			now = threadTime(tid)
		}
		if now != ran {
			ran, still = now, 0
		} else if still++; still >= looksTurn || still >= looksMost && tid != 0 && !isRunnable(tid) {
			return !g.giveUp()
		}
		timer.Reset(looksApart)
	}
}

// giveUp reports whether the reading was given up: it may have come to its end just now.
func (g *reading) giveUp() bool {
	g.Lock()
	defer g.Unlock()
	select {
	case <-g.done:
		return false
	default:
	}
	g.givenUp = true
	return true
}

// isRunnable reports whether a thread of drainit's runs or waits for a processor.
func isRunnable(tid int) bool {
	thread, err := readThread(os.Getpid(), tid)
	return err == nil && thread.state == 'R'
}
