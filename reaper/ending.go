package reaper

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// Ending tells how a process ended for which a process other than drainit waits.
type Ending struct{ pidfd int }

// NewEnding prepares for the end of a process that runs. read reads the process with a pid. The error is
// ErrGone, that of read, or that of pidfd_open(2).
func NewEnding(id proc.ID, read func(pid int) (proc.Process, error)) (*Ending, error) {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil {
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	p, err := read(id.PID)
	if err == nil && p.Start != id.Start {
		err = ErrGone
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return &Ending{fd}, nil
}

// Status returns how the process ended, once it has been waited for. ok is false before that. It is always
// false before Linux 6.15, which does not tell (PIDFD_INFO_EXIT, include/uapi/linux/pidfd.h).
func (e *Ending) Status() (status unix.WaitStatus, ok bool) {
	const exit, getInfo = 1 << 3, 0xc040ff0b // _IOWR(0xff, 11, the struct)
	info := struct {
		Mask, CgroupID uint64
		IDs            [11]uint32
		ExitCode       int32
	}{Mask: exit}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(e.pidfd), getInfo, uintptr(unsafe.Pointer(&info)))
	return unix.WaitStatus(info.ExitCode), errno == 0 && info.Mask&exit != 0
}
