package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Setup is what a test asks of the surroundings of a drainit. It comes as JSON
// in the environment variable STAGE, which drainit does not get to see.
type Setup struct {
	Namespace   bool   // in fresh PID and mount namespaces: /proc is to be set up
	Proc        string // "": fresh, "none": unmounted, "foreign": that of another namespace
	ReadOnly    bool   // the root is mounted read-only
	Root        string // the folder that becomes the root, with a /proc and a /dev/null of its own
	UID         int    // become this user and group
	Docker      bool   // with the capabilities that Docker leaves to root
	MaxProcs    uint64 // RLIMIT_NPROC
	Ignore      []int  // signals ignored
	Block       []int  // signals blocked
	CloseStderr bool
	Setsid      bool // lead a session without a terminal
	Hold        bool // stop behind the exec, traced by the thread that forked
}

// stage sets up and becomes args.
func stage(args []string) error {
	var s Setup
	if err := json.Unmarshal([]byte(os.Getenv("STAGE")), &s); err != nil {
		return fmt.Errorf("cannot read STAGE: %w", err)
	}
	if err := os.Unsetenv("STAGE"); err != nil {
		return err
	}
	for _, step := range []func(Setup) error{mounts, session, capabilities, limits, inheritedSignals} {
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

func mounts(s Setup) error {
	if !s.Namespace {
		return nil
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cannot make / private: %w", err)
	}
	if s.Root != "" {
		return enter(s)
	}
	switch s.Proc {
	case "":
		if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			return fmt.Errorf("cannot mount /proc: %w", err)
		}
	case "none":
		if err := unix.Mount("none", "/proc", "tmpfs", 0, ""); err != nil {
			return fmt.Errorf("cannot hide /proc: %w", err)
		}
	}
	if s.ReadOnly {
		if err := unix.Mount("/", "/", "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("cannot bind /: %w", err)
		}
		if err := unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
			return fmt.Errorf("cannot remount / read-only: %w", err)
		}
	}
	return nil
}

// enter makes a folder the root, as an engine does with an image. It holds
// nothing but what the test put there.
func enter(s Setup) error {
	proc, null := filepath.Join(s.Root, "proc"), filepath.Join(s.Root, "dev/null")
	for _, m := range []struct {
		from, to, kind string
		flags          uintptr
		skip           bool
	}{
		{from: s.Root, to: s.Root, flags: unix.MS_BIND},
		{to: s.Root, flags: unix.MS_REMOUNT | unix.MS_BIND | unix.MS_RDONLY, skip: !s.ReadOnly},
		{from: "proc", to: proc, kind: "proc"},
		{from: "/dev/null", to: null, flags: unix.MS_BIND},
	} {
		if m.skip {
			continue
		}
		if err := unix.Mount(m.from, m.to, m.kind, m.flags, ""); err != nil {
			return fmt.Errorf("cannot mount %s: %w", m.to, err)
		}
	}
	if err := unix.Chroot(s.Root); err != nil {
		return fmt.Errorf("cannot enter %s: %w", s.Root, err)
	}
	return unix.Chdir("/")
}

func session(s Setup) error {
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
// behind the exec.
func capabilities(s Setup) error {
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

func limits(s Setup) error {
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

func inheritedSignals(s Setup) error {
	for _, n := range s.Ignore {
		signal.Ignore(syscall.Signal(n))
	}
	if len(s.Block) == 0 {
		return nil
	}
	var set unix.Sigset_t
	for _, n := range s.Block {
		set.Val[(n-1)/64] |= 1 << ((n - 1) % 64)
	}
	return unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil)
}
