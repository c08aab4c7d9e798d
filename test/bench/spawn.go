package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// spawned is an init that the bench started, by its pid in the bench's
// namespace, and the read end of the pipe that its worker has as descriptor 3.
type spawned struct {
	pid  int
	pipe int
}

// spawn starts a command in the bench's own PID namespace.
func spawn(argv []string) (*spawned, error) { return spawnIn(argv, 0) }

// spawnFirst starts a command as PID 1 of a PID namespace, which has a /proc of
// its own as a container has. How "stage" is told says what the pipe is for.
func spawnFirst(how string, argv []string) (*spawned, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return spawnIn(append([]string{self, "stage", how}, argv...), unix.CLONE_NEWPID|unix.CLONE_NEWNS)
}

func spawnIn(argv []string, flags uintptr) (*spawned, error) {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(null)
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	defer unix.Close(pipe[1])
	attr := &syscall.SysProcAttr{Cloneflags: flags, Setsid: true, Pdeathsig: syscall.SIGKILL}
	if flags != 0 && os.Getuid() != 0 {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{uintptr(null), uintptr(null), 2, uintptr(pipe[1])},
		Sys:   attr,
	})
	if err != nil {
		unix.Close(pipe[0])
		return nil, fmt.Errorf("cannot start %s: %w", argv[0], err)
	}
	return &spawned{pid, pipe[0]}, nil
}

// wait waits for the end. The error is an exit status but 0.
func (s *spawned) wait() error {
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(s.pid, &status, 0, nil)
		if err == syscall.EINTR {
			continue
		}
		if err == nil && status != 0 {
			err = fmt.Errorf("an init ended with wait status %#x", uint32(status))
		}
		return err
	}
}

// end kills the init; as PID 1 it takes everything with it.
func (s *spawned) end() {
	_ = syscall.Kill(s.pid, syscall.SIGKILL)
	_ = s.wait()
	unix.Close(s.pipe)
}

// read waits for one byte of the worker.
func (s *spawned) read() error {
	const patience = 60_000 // milliseconds
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(s.pipe), Events: unix.POLLIN}}, patience)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return fmt.Errorf("the worker said nothing for a minute (%w)", err)
		}
		var b [1]byte
		if n, err := unix.Read(s.pipe, b[:]); err != nil || n != 1 {
			return fmt.Errorf("the worker has gone (%w)", err)
		}
		return nil
	}
}

// stage is the first process of a PID namespace: it mounts /proc and becomes
// the command. Told "stamp", it sends the time first, and the command does not
// get the pipe: what comes before is not the command's.
func stage(how string, argv []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cannot make / private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("cannot mount /proc: %w", err)
	}
	const pipe = 3
	if how == "stamp" {
		unix.CloseOnExec(pipe)
		stamp := binary.NativeEndian.AppendUint64(nil, uint64(now()))
		if _, err := unix.Write(pipe, stamp); err != nil {
			return err
		}
	}
	return syscall.Exec(argv[0], argv, os.Environ())
}

// stamp is the time that the stage sent.
func (s *spawned) stamp() (time.Duration, error) {
	b := make([]byte, 8)
	if n, err := unix.Read(s.pipe, b); n != len(b) {
		return 0, fmt.Errorf("no time from the stage (%w)", err)
	}
	return time.Duration(binary.NativeEndian.Uint64(b)), nil
}

// now is a time that means the same in every process.
func now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}

func kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown kernel"
	}
	return "Linux " + unix.ByteSliceToString(u.Release[:])
}
