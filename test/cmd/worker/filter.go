package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Where the number of a system call and the low half of its first argument are
// in struct seccomp_data, little-endian.
const (
	numberAt = 0
	firstAt  = 16
)

// becomeFailing becomes a command in which one system call fails where the low half of
// its first argument passes a test, by a filter of seccomp(2).
func becomeFailing(call uint32, test unix.SockFilter, errno unix.Errno, args []string) error {
	filter := [...]unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: numberAt},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: firstAt},
		test, // skips one where the call must not fail
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	runtime.LockOSThread() // the filter is the thread's that calls exec
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot set no_new_privs: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		return fmt.Errorf("cannot filter system calls: %w", err)
	}
	return syscall.Exec(args[0], args, os.Environ())
}

// noForks becomes a command that can start threads and no process: clone(2)
// without CLONE_THREAD fails with EAGAIN, as at the limit of processes. A real
// limit counts threads too, and the Go runtime can't start without its own.
//
//	worker noforks COMMAND [ARG...]
func noForks(args []string) error {
	return becomeFailing(unix.SYS_CLONE,
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_THREAD, Jt: 1}, unix.EAGAIN, args)
}

// noIPv6 becomes a command for which the kernel has no IPv6.
//
//	worker noipv6 COMMAND [ARG...]
func noIPv6(args []string) error {
	return becomeFailing(unix.SYS_SOCKET,
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.AF_INET6, Jf: 1}, unix.EAFNOSUPPORT, args)
}
