package main

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// sigtimedwait is sigwait by rt_sigtimedwait(2): while it waits, the signal is
// not among those that /proc shows as blocked.
//
//	worker sigtimedwait TSTP
func sigtimedwait(args []string) error {
	set, err := blockedInAll(args)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		const sigsetSize = 8
		n, _, errno := unix.Syscall6(unix.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&set)), 0, 0, sigsetSize, 0, 0)
		switch errno {
		case 0:
			fmt.Println("got", signals.Name(syscall.Signal(n)))
		case unix.EINTR:
		default:
			return errno
		}
	}
}
