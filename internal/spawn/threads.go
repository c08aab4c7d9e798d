package spawn

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// given are the processors that drainit, and so its worker, may run on; nil as long as its
// threads are spread over them.
var given *unix.CPUSet

// GatherThreads has all threads that drainit starts from now on run on the processor that
// it runs on. The start is one hand-over after the other, from each subscription to a signal
// to a thread of the Go runtime and back, and to a thread that waits on another processor
// one takes five times as long. The runtime's monitor stays away: it looks every few dozen
// microseconds whether there is something to do, and would take its turns from the start. It
// must be called on the main thread, which starts the others. Where /proc does not show those
// that the runtime has already, it does nothing: they could not be spread again.
func GatherThreads() {
	const monitor = 1 // the runtime starts it before any other
	var all, here unix.CPUSet
	var cpu uint32
	tids := proc.Threads()
	if len(tids) <= monitor || unix.SchedGetaffinity(0, &all) != nil {
		return
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); errno != 0 {
		return
	}
	here.Set(int(cpu))
	given = &all
	setProcessors(slices.Delete(tids, monitor, monitor+1), &here)
}

// SpreadMain undoes that for the main thread, which forks the worker.
func SpreadMain() {
	if given != nil {
		_ = unix.SchedSetaffinity(0, given)
	}
}

// SpreadThreads undoes it for all.
func SpreadThreads() {
	if given != nil {
		setProcessors(proc.Threads(), given)
		given = nil
	}
}

// setProcessors says where these threads of drainit's run.
func setProcessors(tids []int, these *unix.CPUSet) {
	for _, tid := range tids {
		_ = unix.SchedSetaffinity(tid, these)
	}
}
