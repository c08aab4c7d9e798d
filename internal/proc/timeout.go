package proc

import (
	"sync"
	"time"
)

// lateAfter is how long one read may take: the machine may be busy.
const lateAfter = 500 * time.Millisecond

// part is what a file of a process has from an offset on, so many bytes at most.
type part struct {
	pid  int
	file string
	at   int64
	size int
}

func (p part) read() (b []byte, err error) {
	err = asOwner(p.pid, func() (err error) {
		b, err = readPart(p.file, p.at, p.size)
		return err
	})
	return b, err
}

// stuckReader is whether a read was given up and has not ended yet.
type stuckReader struct {
	sync.Mutex
	yes bool
}

func (s *stuckReader) is() bool {
	s.Lock()
	defer s.Unlock()
	return s.yes
}

// readWithTimeout reads parts of files of /proc on another thread; nil stands for those
// that can't be read, or not in time. It is for files that are read under a lock of their
// process, as cmdline and mem are under that of its memory (mm/memory.c,
// access_remote_vm). A process that is stuck in mmap(2) or munmap(2), for a file
// system does not answer, may hold that for ever, and nothing but SIGKILL ends the wait
// of what reads. The thread is left to it then, and nothing is read until it is back: one
// thread can be spared, more may be more than there is room for.
func (r *Reader) readWithTimeout(parts []part) [][]byte {
	pages := make([][]byte, len(parts))
	if len(parts) > 0 && !r.stuck.is() {
		timed := &timedRead{stuck: &r.stuck, total: len(parts), done: make(chan struct{}), since: time.Now()}
		go timed.read(parts)
		copy(pages, timed.wait())
	}
	return pages
}

// timedRead reads until all has been read, or one part is late.
type timedRead struct {
	stuck   *stuckReader
	total   int
	done    chan struct{}
	pages   [][]byte  // guarded by stuck, as the others are
	since   time.Time // when the next part was begun
	givenUp bool
}

func (r *timedRead) read(parts []part) {
	defer close(r.done)
	for _, p := range parts {
		page, err := p.read()
		if err != nil {
			page = nil
		}
		if !r.took(page) {
			return
		}
	}
}

// took reports whether the next is to be read.
func (r *timedRead) took(page []byte) bool {
	r.stuck.Lock()
	defer r.stuck.Unlock()
	if r.givenUp {
		r.stuck.yes = false
		return false
	}
	r.pages, r.since = append(r.pages, page), time.Now()
	return true
}

// wait returns the pages that have been read in time.
func (r *timedRead) wait() [][]byte {
	timer := time.NewTimer(lateAfter)
	defer timer.Stop()
	for {
		select {
		case <-r.done:
			return r.pages
		case <-timer.C:
		}
		left, givenUp := r.giveUp()
		if givenUp {
			return r.pages
		}
		timer.Reset(left)
	}
}

// giveUp gives the read up if a part is late. Else it returns when the next one will be.
func (r *timedRead) giveUp() (left time.Duration, givenUp bool) {
	r.stuck.Lock()
	defer r.stuck.Unlock()
	left = lateAfter - time.Since(r.since)
	if left <= 0 && len(r.pages) < r.total {
		r.givenUp, r.stuck.yes = true, true
	}
	return max(left, time.Millisecond), r.givenUp
}

// Reader takes snapshots. The zero Reader is ready. It must not be copied.
type Reader struct {
	stuck stuckReader
	kept  keptStat
}
