package reaper

import (
	"sync"
	"time"
)

const (
	lateAfter = 500 * time.Millisecond // the machine may be busy
	lateAgain = 5 * time.Millisecond   // while another read is late
)

// late are the files whose read was given up and has not ended yet.
var late = struct {
	sync.Mutex
	files map[string]bool
}{files: make(map[string]bool)}

// readAside reads the first page of each of these files of /proc on another thread:
// nil stands for those that can't be read, or not in time. It is for a file that is
// read under a lock of its process, as cmdline is under that of its memory
// (mm/memory.c, access_remote_vm). A process that is stuck in mmap(2) or munmap(2),
// for a file system does not answer, may hold that for ever, and nothing but SIGKILL
// ends the wait of who reads: that thread is left to it, and the file is not read
// again until it has come back.
func readAside(paths []string) [][]byte {
	pages := make([][]byte, 0, len(paths))
	for len(pages) < len(paths) {
		r := &asideReader{done: make(chan struct{})}
		go r.read(paths[len(pages):])
		pages = append(pages, r.wait(paths[len(pages):])...)
	}
	return pages
}

// asideReader reads files until all have been read, or one of them is late.
type asideReader struct {
	done    chan struct{}
	pages   [][]byte // guarded by late, as all below
	givenUp bool
}

func (r *asideReader) read(paths []string) {
	defer close(r.done)
	for _, path := range paths {
		var page []byte
		if !isLate(path) {
			if b, err := readPage(path); err == nil {
				page = b
			}
		}
		if !r.took(path, page) {
			return
		}
	}
}

func isLate(path string) bool {
	late.Lock()
	defer late.Unlock()
	return late.files[path]
}

// took reports whether the next is to be read.
func (r *asideReader) took(path string, page []byte) bool {
	late.Lock()
	defer late.Unlock()
	if r.givenUp {
		delete(late.files, path)
		return false
	}
	r.pages = append(r.pages, page)
	return true
}

// patience is how long one file may take.
func patience() time.Duration {
	late.Lock()
	defer late.Unlock()
	if len(late.files) > 0 {
		return lateAgain
	}
	return lateAfter
}

// wait returns the pages that have been read, with nil for the late one.
func (r *asideReader) wait(paths []string) [][]byte {
	for before := 0; ; {
		timer := time.NewTimer(patience())
		select {
		case <-r.done:
			timer.Stop()
			return r.pages
		case <-timer.C:
		}
		n := r.giveUp(before, paths)
		if r.givenUp {
			return append(r.pages, nil)
		}
		before = n
	}
}

// giveUp gives the reader up if it has not got beyond before, and returns how far it is.
func (r *asideReader) giveUp(before int, paths []string) (n int) {
	late.Lock()
	defer late.Unlock()
	n = len(r.pages)
	if n == before && n < len(paths) {
		r.givenUp = true
		late.files[paths[n]] = true
	}
	return n
}
