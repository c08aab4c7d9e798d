package main

import (
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"drainit/internal/sigqueue"
)

// hostile blocks every signal that there is, ignores all but one and becomes a
// command. It asks the kernel itself: os/signal leaves out those that the Go
// runtime needs and 32 to 34, and other libraries some more.
//
//	worker hostile BUT COMMAND [ARG...]
func hostile(args []string) {
	runtime.LockOSThread() // the mask is the thread's that calls exec
	all := unix.Sigset_t{}
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	must("block all signals", unix.PthreadSigmask(unix.SIG_BLOCK, &all, nil))
	ignoreAllBut(unix.Signal(number(args[0])))
	become(args[1:])
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	must("read a number", err)
	return n
}

func ignoreAllBut(but unix.Signal) {
	for sig := unix.Signal(1); sig <= 64; sig++ {
		if sig != but {
			_, _ = sigqueue.SetAction(sig, sigqueue.Ignore) // fails for KILL and STOP
		}
	}
}

// becomeFailing becomes a command in which one system call fails where the low half of
// its first argument passes a test, by a filter of seccomp(2).
func becomeFailing(call uint32, test unix.SockFilter, errno unix.Errno, command []string) {
	// Where the number of the call and that half are in struct seccomp_data, little-endian.
	const numberAt, firstAt = 0, 16
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
	must("set no_new_privs", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	must("filter system calls", unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0))
	become(command)
}

// noForks becomes a command that can start threads and no process: clone(2)
// without CLONE_THREAD fails with EAGAIN, as at the limit of processes. A real
// limit counts threads too, and the Go runtime can't start without its own.
//
//	worker noforks COMMAND [ARG...]
func noForks(args []string) {
	becomeFailing(unix.SYS_CLONE,
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_THREAD, Jt: 1}, unix.EAGAIN, args)
}

// noIPv6 becomes a command for which the kernel has no IPv6.
//
//	worker noipv6 COMMAND [ARG...]
func noIPv6(args []string) {
	becomeFailing(unix.SYS_SOCKET,
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.AF_INET6, Jf: 1}, unix.EAFNOSUPPORT, args)
}

// noCall becomes a command that may not make one system call, by a seccomp profile.
//
//	worker nocall NUMBER COMMAND [ARG...]
func noCall(args []string) {
	becomeFailing(uint32(number(args[0])), unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA}, unix.EPERM, args[1:]) // whatever the argument
}
