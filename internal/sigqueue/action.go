package sigqueue

import (
	"os"
	"os/signal"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Action is a struct sigaction as the kernel has it: the handler comes first.
type Action [4]uint64

// The actions that are no handlers (signal(7)).
var (
	Default = Action{}
	Ignore  = Action{1}
)

// SetAction sets the action of a signal (rt_sigaction(2)), and returns the one before. os/signal's Reset
// would leave the runtime's handler in place.
func SetAction(sig unix.Signal, to Action) (before Action, err error) {
	const setSize = 8 // bytes of a set of signals
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION,
		uintptr(sig), uintptr(unsafe.Pointer(&to)), uintptr(unsafe.Pointer(&before)), setSize, 0, 0)
	if errno != 0 {
		err = os.NewSyscallError("rt_sigaction", errno)
	}
	return before, err
}

// SurvivePipe makes a write to a closed standard error fail. Without it the write would end drainit
// (package os/signal, "SIGPIPE").
func SurvivePipe() { signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) }
