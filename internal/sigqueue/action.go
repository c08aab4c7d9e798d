package sigqueue

import (
	"os"
	"os/signal"
	"unsafe"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// Action is a struct sigaction as the kernel has it: the handler comes first.
type Action [4]uint64

// The actions that are no handlers (signal(7)).
var (
	Default = Action{}
	Ignore  = Action{1}
)

// SetAction is rt_sigaction(2). os/signal's Reset would leave the runtime's handler in place.
func SetAction(sig unix.Signal, to Action) (before Action, err error) {
	const setSize = 8 // bytes of a set of signals
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION,
		uintptr(sig), uintptr(unsafe.Pointer(&to)), uintptr(unsafe.Pointer(&before)), setSize, 0, 0)
	if errno != 0 {
		err = os.NewSyscallError("rt_sigaction", errno)
	}
	return before, err
}

// IgnoreFaults ignores the faults that a process may send to drainit: the Go runtime would take one
// for its own and end the program (runtime/os_linux.go, sigFromUser).
//
// A real fault ends drainit all the same (kernel/signal.c, force_sig_info_to_task). The worker gets
// the default actions, since the runtime resets in a child what it had a handler for. An exec without
// a fork would keep them ignored.
func IgnoreFaults() {
	for _, sig := range signals.Faults() {
		_, _ = SetAction(sig, Ignore)
	}
}

// SurvivePipe makes a write to a closed standard error fail. Without it the write would end drainit
// (package os/signal, "SIGPIPE").
func SurvivePipe() { signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) }
