package proc

import (
	"sync"
	"time"
)

// lateAfter is how long one read may take: the machine may be busy.
const lateAfter = 500 * time.Millisecond

// late is whether a read was given up and has not ended yet.
var late struct {
	sync.Mutex
	yes bool
}

// part is a page of a file, or what it has of one, from an offset on.
type part struct {
	file string
	at   int64
}

// readAside reads parts of files of /proc on another thread; nil stands for those that
// can't be read, or not in time. It is for files that are read under a lock of their
// process, as cmdline and mem are under that of its memory (mm/memory.c,
// access_remote_vm). A process that is stuck in mmap(2) or munmap(2), for a file
// system does not answer, may hold that for ever, and nothing but SIGKILL ends the wait
// of who reads. The thread is left to it then, and nothing is read until it is back: one
// thread can be spared, more may be more than there is room for.
func readAside(parts []part) [][]byte {
	pages := make([][]byte, len(parts))
	if len(parts) > 0 && !isLate() {
		r := &asideReader{total: len(parts), done: make(chan struct{})}
		go r.read(parts)
		copy(pages, r.wait())
	}
	return pages
}

// asideReader reads until all has been read, or one part is late.
type asideReader struct {
	total   int
	done    chan struct{}
	pages   [][]byte // guarded by late, as givenUp is
	givenUp bool
}

func (r *asideReader) read(parts []part) {
	defer close(r.done)
	for _, p := range parts {
		page, err := readPage(p.file, p.at)
		if err != nil {
			page = nil
		}
		if !r.took(page) {
			return
		}
	}
}

// took reports whether the next is to be read.
func (r *asideReader) took(page []byte) bool {
	late.Lock()
	defer late.Unlock()
	if r.givenUp {
		late.yes = false
		return false
	}
	r.pages = append(r.pages, page)
	return true
}

// wait returns the pages that have been read in time.
func (r *asideReader) wait() [][]byte {
	timer := time.NewTimer(lateAfter)
	defer timer.Stop()
	for before := 0; ; {
		select {
		case <-r.done:
			return r.pages
		case <-timer.C:
		}
		n := r.giveUp(before)
		if r.givenUp {
			return r.pages
		}
		before = n
		timer.Reset(lateAfter)
	}
}

// giveUp gives the reader up if it has not got beyond before, and returns how far it is.
func (r *asideReader) giveUp(before int) (n int) {
	late.Lock()
	defer late.Unlock()
	if n = len(r.pages); n == before && n < r.total {
		r.givenUp, late.yes = true, true
	}
	return n
}

func isLate() bool {
	late.Lock()
	defer late.Unlock()
	return late.yes
}
