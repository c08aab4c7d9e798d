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
//
// The kernel keeps to what a thread has asked for, and what it starts does so, too: where its
// cpuset has more processors later, it would not run on those (kernel/sched/core.c,
// user_cpus_ptr; Linux 6.2). So every processor is asked for, of which a thread gets those of
// its cpuset; unless drainit was bound to some of them before.
func SpreadMain() {
	if given == nil {
		return
	}
	var every, now unix.CPUSet
	every.Fill()
	_ = unix.SchedSetaffinity(0, &every)
	if unix.SchedGetaffinity(0, &now) == nil && now == *given {
		given = &every
		return
	}
	_ = unix.SchedSetaffinity(0, given)
}

// SpreadThreads undoes it for all, behind SpreadMain.
func SpreadThreads() {
	if given == nil {
		return
	}
	for before := 0; ; { // one that was started meanwhile stands behind the others
		tids := proc.Threads()
		if len(tids) == before {
			break
		}
		setProcessors(tids, given)
		before = len(tids)
	}
	given = nil
}

// setProcessors says where these threads of drainit's run.
func setProcessors(tids []int, these *unix.CPUSet) {
	for _, tid := range tids {
		_ = unix.SchedSetaffinity(tid, these)
	}
}
