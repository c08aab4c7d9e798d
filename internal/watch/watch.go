// Package watch says when processes end that are not drainit's children: to adopt their
// children sends no signal, but a pidfd is readable when its process has ended
// (pidfd_open(2)).
//
// It owns those descriptors. It must never wait for a child, signal a process or decide
// anything.
package watch

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// Most is how many processes are watched at most, and so how many descriptors that takes.
const Most = 256

// Watcher watches processes. With Read it is ready, and takes no descriptor before the
// first process. It must not be copied, and is for one goroutine.
type Watcher struct {
	Wake func()                              // is called behind what is sent while nothing is asked, unless it is nil
	Read func(pid int) (proc.Process, error) // the stat of a process (proc.Reader.Read)

	epoll   int // 0: not opened yet, -1: it can't be
	watched map[int]process
}

// process is one that is watched.
type process struct {
	proc.ID
	fd int
}

// Set has these processes watched and no others. The pid of each that ends, or has ended,
// is sent to died once. It reports whether all of them are watched: not before Linux 5.3,
// nor where that may not be done, nor if there are too many.
func (w *Watcher) Set(these []proc.ID, died chan<- int) (all bool) {
	wanted := make(map[int]proc.ID, len(these))
	for _, id := range these {
		wanted[id.PID] = id
	}
	for pid, p := range w.watched {
		if wanted[pid] != p.ID {
			_ = unix.Close(p.fd) // by which it leaves the epoll
			delete(w.watched, pid)
		}
	}
	if len(these) > 0 && !w.open(died) {
		return false
	}
	all = true
	for _, id := range these {
		if _, is := w.watched[id.PID]; !is {
			all = len(w.watched) < Most && w.add(id, died) && all
		}
	}
	return all
}

// open opens the epoll. One goroutine waits for all that is in it, and no thread: the
// runtime's own poller waits for an epoll as for any other descriptor.
func (w *Watcher) open(died chan<- int) bool {
	if w.epoll != 0 {
		return w.epoll > 0
	}
	w.epoll = -1
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return false
	}
	if unix.SetNonblock(fd, true) != nil {
		_ = unix.Close(fd)
		return false
	}
	file := os.NewFile(uintptr(fd), "epoll")
	raw, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return false
	}
	w.epoll, w.watched = fd, make(map[int]process)
	go func() { _ = raw.Read(func(fd uintptr) bool { return w.report(int(fd), died) }) }()
	return true
}

// report sends the pids of those that have ended. It returns false: there is always more
// to wait for.
func (w *Watcher) report(epoll int, died chan<- int) bool {
	for {
		var events [16]unix.EpollEvent
		n, err := unix.EpollWait(epoll, events[:], 0)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			return false
		}
		for _, e := range events[:n] {
			died <- int(e.Fd)
			if w.Wake != nil {
				w.Wake()
			}
		}
	}
}

// add reports whether a process is watched, or known to have ended.
func (w *Watcher) add(id proc.ID, died chan<- int) bool {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return said(id.PID, died)
	}
	if err != nil {
		return false
	}
	p, err := w.Read(id.PID)
	if errors.Is(err, proc.ErrNoAnswer) {
		_ = unix.Close(fd)
		return false
	}
	if err != nil || p.ID != id { // another has its pid
		_ = unix.Close(fd)
		return said(id.PID, died)
	}
	// What is reported is the pid; once is enough, for a pidfd stays readable.
	err = unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: int32(id.PID)})
	if err != nil {
		_ = unix.Close(fd)
		return false
	}
	w.watched[id.PID] = process{id, fd}
	return true
}

// said reports whether there was room to say that a process has ended.
func said(pid int, died chan<- int) bool {
	select {
	case died <- pid:
		return true
	default:
		return false
	}
}
