package spawn

import (
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
// one takes five times as long. It must be called before there are threads, on the main one.
func GatherThreads() {
	var all, here unix.CPUSet
	var cpu uint32
	if unix.SchedGetaffinity(0, &all) != nil {
		return
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); errno != 0 {
		return
	}
	here.Set(int(cpu))
	if unix.SchedSetaffinity(0, &here) == nil {
		given = &all
		setProcessors(&here)
	}
}

// SpreadMain undoes that for the main thread, which forks the worker.
func SpreadMain() {
	if given != nil {
		_ = unix.SchedSetaffinity(0, given)
	}
}

// SpreadThreads undoes it for all. Where /proc does not show them, they stay where they
// are: they are few, and none has much to do.
func SpreadThreads() {
	if given == nil {
		return
	}
	SpreadMain()
	setProcessors(given)
	given = nil
}

// setProcessors says where drainit's threads run.
func setProcessors(these *unix.CPUSet) {
	for _, tid := range proc.Threads() {
		_ = unix.SchedSetaffinity(tid, these)
	}
}
