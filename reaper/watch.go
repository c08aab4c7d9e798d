package reaper

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// Most is how many processes are watched at most, each with a descriptor.
const Most = 256

// Watcher reports the end of processes that are not drainit's children. Their children become drainit's without a
// signal, but a pidfd is readable once its process has ended (pidfd_open(2)). It must not be copied, and is for one
// goroutine.
type Watcher struct {
	Died    chan int             // the pid of each that has ended, once
	wake    func()               // called after each that is sent outside of Set
	watched map[proc.ID]*os.File // the pidfd of each
}

// NewWatcher returns a watcher of none.
func NewWatcher(wake func()) *Watcher {
	return &Watcher{Died: make(chan int, 2*Most), wake: wake, watched: make(map[proc.ID]*os.File)}
}

// Set watches these processes and no others. If a pid was recycled since it was read, Died reports the end of its new
// process. all is false before Linux 5.3, where pidfds are not permitted, and if there are too many processes.
func (w *Watcher) Set(these []proc.ID) (all bool) {
	for id, pidfd := range w.watched {
		if !slices.Contains(these, id) {
			_ = pidfd.Close()
			delete(w.watched, id)
		}
	}
	all = true
	for _, id := range these {
		if _, is := w.watched[id]; !is {
			all = len(w.watched) < Most && w.add(id) && all
		}
	}
	return all
}

// add reports whether a process is watched, or known to have ended.
func (w *Watcher) add(id proc.ID) bool {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err == unix.ESRCH {
		select {
		case w.Died <- id.PID:
			return true
		default: // no room
		}
	}
	if err != nil {
		return false
	}
	_ = unix.SetNonblock(fd, true) // else os.NewFile does not poll it
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
			w.Died <- id.PID
			w.wake()
		}
	}()
	return true
}
