package reaper

import (
	"math"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// Most is how many processes a Watcher watches at most, each with a descriptor. Reserve is how many
// descriptors stay free for the reads of /proc and for probes.
const Most, Reserve = 256, 12

// Watcher reports the end of processes that are not drainit's children. No signal tells drainit of such an
// end, and that it has adopted the children. But a pidfd is readable once its process has ended
// (pidfd_open(2)). A Watcher must not be copied, and is for one goroutine.
type Watcher struct {
	Died    chan proc.ID         // each process that has ended, once
	wake    func()               // called after one is sent to Died outside of Set
	watched map[proc.ID]*os.File // the pidfd of each
	limit   int                  // the limit of descriptors: each is below it
}

// NewWatcher returns a Watcher that watches no process so far. wake is called after one is sent to Died
// outside of Set.
func NewWatcher(wake func()) *Watcher {
	var files unix.Rlimit // zero if it can't be read
	_ = unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &files)
	limit := int(min(files.Cur, math.MaxInt32))
	return &Watcher{
		Died:    make(chan proc.ID, 2*Most),
		wake:    wake,
		watched: make(map[proc.ID]*os.File),
		limit:   limit,
	}
}

// Set watches these processes and no others, and reports whether all of them are watched. They are not if the
// system has no pidfds (before Linux 5.3, or by a seccomp profile), or if there are too many processes or too
// few descriptors. If a pid was recycled since it was read, the end of its new process is reported.
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

// add begins to watch a process, and reports whether it is watched. One that has ended counts as watched: it
// is in Died.
func (w *Watcher) add(id proc.ID) bool {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err == unix.ESRCH {
		select {
		case w.Died <- id:
			return true
		default: // no room
		}
	}
	if err != nil {
		return false
	}
	if fd >= w.limit-Reserve { // the lowest one that is free
		_ = unix.Close(fd)
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
			w.Died <- id
			w.wake()
		}
	}()
	return true
}
