package main

import (
	"encoding/json"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"drainit/internal/sigqueue"
	"drainit/test/harness/setup"
)

func stage(args []string) {
	var s setup.Setup
	must("read STAGE", json.Unmarshal([]byte(os.Getenv("STAGE")), &s))
	must("unset STAGE", os.Unsetenv("STAGE"))
	mounts(s)
	capabilities(s)
	limits(s)
	for _, n := range s.Ignore {
		signal.Ignore(syscall.Signal(n))
	}
	if s.CloseStderr {
		unix.Close(2)
	}
	if s.Hold {
		if _, _, errno := unix.RawSyscall(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0); errno != 0 {
			must("be traced", errno)
		}
	}
	become(args)
}

// mounts sets up /proc and the root. A folder that becomes the root, as an engine makes it of an
// image, holds nothing but what the test put there.
func mounts(s setup.Setup) {
	if !s.Namespace {
		return
	}
	image, readOnly := s.Root != "", uintptr(unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY)
	for _, m := range []struct {
		do             bool
		from, to, kind string
		flags          uintptr
	}{
		{true, "", "/", "", unix.MS_REC | unix.MS_PRIVATE},
		{image, s.Root, s.Root, "", unix.MS_BIND},
		{image && s.ReadOnly, "", s.Root, "", readOnly},
		{image || s.Proc == "", "proc", s.Root + "/proc", "proc", 0},
		{image, "/dev/null", s.Root + "/dev/null", "", unix.MS_BIND},
		{!image && s.Proc == "none", "none", "/proc", "tmpfs", 0},
		{!image && s.ReadOnly, "/", "/", "", unix.MS_BIND | unix.MS_REC},
		{!image && s.ReadOnly, "", "/", "", readOnly},
	} {
		if m.do {
			must("mount "+m.kind+" "+m.to, unix.Mount(m.from, m.to, m.kind, m.flags, ""))
		}
	}
	if image {
		must("enter "+s.Root, unix.Chroot(s.Root))
		must("enter /", unix.Chdir("/"))
	}
}

// dockers are the capabilities that a container of Docker's has if it asks for no others.
// CAP_SYS_PTRACE is not among them.
var dockers = []uintptr{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FSETID, unix.CAP_FOWNER, unix.CAP_MKNOD,
	unix.CAP_NET_RAW, unix.CAP_SETGID,
	unix.CAP_SETUID, unix.CAP_SETFCAP, unix.CAP_SETPCAP, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT,
	unix.CAP_KILL, unix.CAP_AUDIT_WRITE,
}

// capabilities takes the others out of the bounding set, so that root has none of them
// after the exec.
func capabilities(s setup.Setup) {
	for c := uintptr(0); s.Docker && c <= unix.CAP_LAST_CAP; c++ {
		if slices.Contains(dockers, c) {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != unix.EINVAL { // an older kernel
			must("drop a capability", err)
		}
	}
}

func limits(s setup.Setup) {
	if s.MaxProcs > 0 {
		must("limit processes", unix.Setrlimit(unix.RLIMIT_NPROC,
			&unix.Rlimit{Cur: s.MaxProcs, Max: s.MaxProcs}))
	}
	if s.UID != 0 {
		must("drop groups", syscall.Setgroups(nil))
		must("become another group", syscall.Setresgid(s.UID, s.UID, s.UID))
		must("become another user", syscall.Setresuid(s.UID, s.UID, s.UID))
	}
}

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
	must("filter system calls", unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER,
		uintptr(unsafe.Pointer(&prog)), 0, 0))
	become(command)
}

// noIPv6 becomes a command for which the kernel has no IPv6.
//
//	worker noipv6 COMMAND [ARG...]
func noIPv6(args []string) {
	becomeFailing(unix.SYS_SOCKET, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K,
		K: unix.AF_INET6, Jf: 1}, unix.EAFNOSUPPORT, args)
}

// noCall becomes a command that may not make one system call, by a seccomp profile.
//
//	worker nocall NUMBER COMMAND [ARG...]
func noCall(args []string) {
	// whatever the argument
	becomeFailing(uint32(number(args[0])), unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA}, unix.EPERM,
		args[1:])
}
