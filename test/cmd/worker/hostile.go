package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hostile blocks every signal that there is, ignores all but one and becomes a
// command. It asks the kernel itself: os/signal leaves out those that the Go
// runtime needs and 32 to 34, and other libraries some more.
//
//	worker hostile BUT COMMAND [ARG...]
func hostile(args []string) error {
	but, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the mask is the thread's that calls exec
	if err := inheritedSignals(Setup{Block: allSignals()}); err != nil {
		return err
	}
	ignored := [4]uint64{1} // SIG_IGN, and no flags and no mask
	const sigsetSize = 8
	for _, n := range allSignals() {
		if n == but || n == int(unix.SIGKILL) || n == int(unix.SIGSTOP) {
			continue
		}
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(n), uintptr(unsafe.Pointer(&ignored)), 0, sigsetSize, 0, 0)
		if errno != 0 {
			return fmt.Errorf("cannot ignore %d: %w", n, errno)
		}
	}
	return syscall.Exec(args[1], args[1:], os.Environ())
}

func allSignals() []int {
	var all []int
	for n := range 64 {
		all = append(all, n+1)
	}
	return all
}
