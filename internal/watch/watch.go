// Package watch says when processes end that are not drainit's children: to adopt their
// children sends no signal, but a pidfd is readable when its process has ended
// (pidfd_open(2)).
//
// It owns those descriptors. It must never wait for a child, signal a process or decide
// anything.
package watch

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// Most is how many processes are watched at most, and so how many descriptors that takes.
const Most = 256

// Watcher watches processes. With Wake it is ready. It must not be copied, and is for one
// goroutine.
type Watcher struct {
	Wake func() // is called after each pid that is sent while nothing is asked

	watched map[proc.ID]*os.File // the pidfd of each
}

// Set has these processes watched and no others. The pid of each that ends, or has ended,
// is sent to died once. Of a pid that was used again since these were read, the end of the new
// process is sent. It reports whether all of them are watched: not before Linux 5.3, nor where
// that may not be done, nor if there are too many.
func (w *Watcher) Set(these []proc.ID, died chan<- int) (all bool) {
	for id, pidfd := range w.watched {
		if !slices.Contains(these, id) {
			_ = pidfd.Close()
			delete(w.watched, id)
		}
	}
	if w.watched == nil {
		w.watched = make(map[proc.ID]*os.File)
	}
	all = true
	for _, id := range these {
		if _, is := w.watched[id]; !is {
			all = len(w.watched) < Most && w.add(id, died) && all
		}
	}
	return all
}

// add reports whether a process is watched, or known to have ended.
func (w *Watcher) add(id proc.ID, died chan<- int) bool {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err == unix.ESRCH {
		select {
		case died <- id.PID:
			return true
		default: // there is no room to say so
		}
	}
	if err != nil {
		return false
	}
	_ = unix.SetNonblock(fd, true) // as os.NewFile wants one that is to be polled
	pidfd := os.NewFile(uintptr(fd), "pidfd")
	raw, err := pidfd.SyscallConn()
	if err != nil || pidfd.SetReadDeadline(time.Time{}) != nil { // it can't be polled
		_ = pidfd.Close()
		return false
	}
	w.watched[id] = pidfd
	go func() { // it waits in the runtime's poller, and takes no thread
		polled := false
		err := raw.Read(func(uintptr) bool {
			was := polled
			polled = true
			return was
		})
		if err == nil { // else it was closed
			died <- id.PID
			w.Wake()
		}
	}()
	return true
}
