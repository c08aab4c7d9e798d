package sigqueue

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Action is what a process does about a signal, in the kernel's own form, which is at
// most 32 bytes on what drainit is released for: the handler is first.
type Action [4]uint64

// The actions that are no handlers (signal(7)).
var (
	Default = Action{}
	Ignore  = Action{1}
)

// SetAction is rt_sigaction(2) and returns the action before. It goes around os/signal,
// whose Reset leaves the runtime's handler in place.
func SetAction(sig unix.Signal, to Action) (before Action, err error) {
	const sigsetSize = 8
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION,
		uintptr(sig), uintptr(unsafe.Pointer(&to)), uintptr(unsafe.Pointer(&before)), sigsetSize, 0, 0)
	if errno != 0 {
		return before, os.NewSyscallError("rt_sigaction", errno)
	}
	return before, nil
}
