// Package watch says when processes end that are not drainit's children: to adopt their
// children sends no signal, but a pidfd is readable when its process has ended
// (pidfd_open(2)).
//
// It owns those descriptors. It must never wait for a child, signal a process or decide
// anything.
package watch

import (
	"os"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// Most is how many processes are watched at most, and so how many descriptors that takes.
const Most = 256

// Watcher watches processes. With Wake it is ready, and takes no descriptor before the
// first process. It must not be copied, and is for one goroutine.
type Watcher struct {
	Wake func() // is called after each pid that is sent while nothing is asked

	epoll   int             // 0: not opened yet
	watched map[proc.ID]int // the pidfd of each
}

// Set has these processes watched and no others. The pid of each that ends, or has ended,
// is sent to died once. Of a pid that was used again since these were read, the end of the new
// process is sent. It reports whether all of them are watched: not before Linux 5.3, nor where
// that may not be done, nor if there are too many.
func (w *Watcher) Set(these []proc.ID, died chan<- int) (all bool) {
	wanted := make(map[proc.ID]bool, len(these))
	for _, id := range these {
		wanted[id] = true
	}
	for id, fd := range w.watched {
		if !wanted[id] {
			_ = unix.Close(fd) // by which it leaves the epoll
			delete(w.watched, id)
		}
	}
	if len(these) > 0 && w.epoll == 0 && !w.open(died) {
		return false
	}
	all = true
	for _, id := range these {
		if _, is := w.watched[id]; !is {
			all = len(w.watched) < Most && w.add(id, died) && all
		}
	}
	return all
}

// open opens the epoll. One goroutine waits for all that is in it, and no thread: the
// runtime's own poller waits for an epoll as for any other descriptor.
func (w *Watcher) open(died chan<- int) bool {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return false
	}
	_ = unix.SetNonblock(fd, true) // as os.NewFile wants one that is to be polled
	raw, err := os.NewFile(uintptr(fd), "epoll").SyscallConn()
	if err != nil {
		return false
	}
	w.epoll, w.watched = fd, make(map[proc.ID]int)
	go func() { _ = raw.Read(func(fd uintptr) bool { return w.report(int(fd), died) }) }()
	return true
}

// report sends the pids of those that have ended. It returns false: there is always more
// to wait for.
func (w *Watcher) report(epoll int, died chan<- int) bool {
	for {
		var events [16]unix.EpollEvent
		n, err := unix.EpollWait(epoll, events[:], 0)
		if n <= 0 && err != unix.EINTR {
			return false
		}
		for _, e := range events[:max(n, 0)] {
			died <- int(e.Fd)
			w.Wake()
		}
	}
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
	// What is reported is the pid; once is enough, for a pidfd stays readable.
	err = unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: int32(id.PID)})
	if err != nil {
		_ = unix.Close(fd)
		return false
	}
	w.watched[id] = fd
	return true
}
