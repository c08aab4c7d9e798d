package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"drainit/test/harness/setup"
)

// stage sets up and becomes args.
func stage(args []string) error {
	var s setup.Setup
	if err := json.Unmarshal([]byte(os.Getenv("STAGE")), &s); err != nil {
		return fmt.Errorf("cannot read STAGE: %w", err)
	}
	if err := os.Unsetenv("STAGE"); err != nil {
		return err
	}
	for _, step := range []func(setup.Setup) error{mounts, session, capabilities, limits, inheritedSignals} {
		if err := step(s); err != nil {
			return err
		}
	}
	if s.CloseStderr {
		unix.Close(2)
	}
	if s.Hold {
		if _, _, errno := unix.RawSyscall(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0); errno != 0 {
			return fmt.Errorf("cannot be traced: %w", errno)
		}
	}
	return syscall.Exec(args[0], args, os.Environ())
}

// mounts sets up /proc and the root. A folder that becomes the root, as an engine makes it of an
// image, holds nothing but what the test put there.
func mounts(s setup.Setup) error {
	if !s.Namespace {
		return nil
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
		if !m.do {
			continue
		}
		if err := unix.Mount(m.from, m.to, m.kind, m.flags, ""); err != nil {
			return fmt.Errorf("cannot mount %s %s: %w", m.kind, m.to, err)
		}
	}
	if !image {
		return nil
	}
	if err := unix.Chroot(s.Root); err != nil {
		return fmt.Errorf("cannot enter %s: %w", s.Root, err)
	}
	return unix.Chdir("/")
}

func session(s setup.Setup) error {
	if !s.Setsid || unix.Getpid() == 1 {
		return nil // the namespace's first process leads a session already, if it was asked to
	}
	_, err := unix.Setsid()
	return err
}

// dockers are the capabilities that a container of Docker's has if it asks for no others.
// CAP_SYS_PTRACE is not among them.
var dockers = []uintptr{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FSETID, unix.CAP_FOWNER, unix.CAP_MKNOD, unix.CAP_NET_RAW, unix.CAP_SETGID,
	unix.CAP_SETUID, unix.CAP_SETFCAP, unix.CAP_SETPCAP, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT, unix.CAP_KILL, unix.CAP_AUDIT_WRITE,
}

// capabilities takes the others out of the bounding set, so that root has none of them
// after the exec.
func capabilities(s setup.Setup) error {
	if !s.Docker {
		return nil
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if slices.Contains(dockers, c) {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EINVAL { // an older kernel
			return fmt.Errorf("cannot drop capability %d: %w", c, err)
		}
	}
	return nil
}

func limits(s setup.Setup) error {
	if s.MaxProcs > 0 {
		lim := unix.Rlimit{Cur: s.MaxProcs, Max: s.MaxProcs}
		if err := unix.Setrlimit(unix.RLIMIT_NPROC, &lim); err != nil {
			return fmt.Errorf("cannot limit processes: %w", err)
		}
	}
	if s.UID == 0 {
		return nil
	}
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("cannot drop groups: %w", err)
	}
	if err := syscall.Setresgid(s.UID, s.UID, s.UID); err != nil {
		return fmt.Errorf("cannot become group %d: %w", s.UID, err)
	}
	return syscall.Setresuid(s.UID, s.UID, s.UID)
}

func inheritedSignals(s setup.Setup) error {
	for _, n := range s.Ignore {
		signal.Ignore(syscall.Signal(n))
	}
	if len(s.Block) == 0 {
		return nil
	}
	set := setOf(s.Block...)
	return unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil)
}
