package main

import (
	"encoding/json"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

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
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FSETID, unix.CAP_FOWNER, unix.CAP_MKNOD, unix.CAP_NET_RAW, unix.CAP_SETGID,
	unix.CAP_SETUID, unix.CAP_SETFCAP, unix.CAP_SETPCAP, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT, unix.CAP_KILL, unix.CAP_AUDIT_WRITE,
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
		must("limit processes", unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: s.MaxProcs, Max: s.MaxProcs}))
	}
	if s.UID != 0 {
		must("drop groups", syscall.Setgroups(nil))
		must("become another group", syscall.Setresgid(s.UID, s.UID, s.UID))
		must("become another user", syscall.Setresuid(s.UID, s.UID, s.UID))
	}
}
