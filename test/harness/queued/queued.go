// Package queued sends signals as sigqueue(3) does, for the tests and for the workers that
// they run.
package queued

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Send sends a signal with the code SI_QUEUE, where kill(2) gives SI_USER. The error is that
// of rt_sigqueueinfo(2).
func Send(pid int, sig unix.Signal) error {
	const siQueue = -1
	info := [32]int32{0: int32(sig), 2: siQueue} // si_signo, si_errno, si_code, and what belongs to it
	_, _, errno := unix.RawSyscall(unix.SYS_RT_SIGQUEUEINFO, uintptr(pid), uintptr(sig),
		uintptr(unsafe.Pointer(&info)))
	if errno != 0 {
		return errno
	}
	return nil
}
