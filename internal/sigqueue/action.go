package sigqueue

import (
	"os"
	"os/signal"
	"unsafe"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// Action is what a process does about a signal, in the kernel's own form: the handler is first.
type Action [4]uint64

// The actions that are no handlers (signal(7)).
var (
	Default = Action{}
	Ignore  = Action{1}
)

// SetAction is rt_sigaction(2) and returns the action before. It goes around os/signal,
// whose Reset leaves the runtime's handler in place.
func SetAction(sig unix.Signal, to Action) (before Action, err error) {
	const setSize = 8 // bytes of a set of signals
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION,
		uintptr(sig), uintptr(unsafe.Pointer(&to)), uintptr(unsafe.Pointer(&before)), setSize, 0, 0)
	if errno != 0 {
		err = os.NewSyscallError("rt_sigaction", errno)
	}
	return before, err
}

// IgnoreFaults has the kernel drop a fault that some process sends. The Go runtime takes one for
// drainit's own, and ends it, as long as it is not subscribed to; and one that is sent by
// sigqueue(3) always (runtime/os_linux.go, sigFromUser). It unblocks them in each new thread.
//
// A fault of drainit's own ends it all the same: the kernel takes the default action then, for PID
// 1 too (kernel/signal.c, force_sig_info_to_task). A worker does not inherit it, for the runtime
// makes default in each child what it had a handler for; an exec without a fork would keep it.
func IgnoreFaults() {
	for _, sig := range signals.Faults() {
		_, _ = SetAction(sig, Ignore)
	}
}

// SurvivePipe has a write to a standard error that is closed fail. Without a subscriber to
// PIPE, an os.File of that descriptor ends drainit (package os/signal, "SIGPIPE").
func SurvivePipe() { signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) }
