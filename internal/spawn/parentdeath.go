package spawn

import (
	"os"

	"golang.org/x/sys/unix"
)

// deathPipes have the kernel send one signal to the worker when drainit dies,
// however it does.
//
// The parent-death signal (PR_SET_PDEATHSIG) is not that: it comes again each
// time that the worker passes from one dying thread of ours to the next, two to
// five times on two processors, and a second TERM means force-stop. Instead the
// worker is made the owner of a pipe's signals (F_SETOWN, F_SETSIG in fcntl(2)),
// both ends of which are ours alone: the kernel closes one before the other, and
// if that is the writing end, it signals the owner of the reading one.
// Which end that is depends on their numbers and on the kernel (task_work_run
// went from first to last to last to first in Linux 4.9), so there are two
// pipes, numbered the one way and the other: one of them signals.
type deathPipes []int // their reading ends

// openDeathPipes makes the pipes, before there is a worker. As PID 1 there are
// none: with it the kernel ends everything, elsewhere the worker would go on.
func openDeathPipes(sig unix.Signal) (d deathPipes, err error) {
	if os.Getpid() == 1 {
		return nil, nil
	}
	for _, readFirst := range []bool{true, false} {
		r, err := numberedPipe(readFirst)
		if err == nil {
			_, err = unix.FcntlInt(uintptr(r), unix.F_SETSIG, int(sig))
		}
		if err == nil {
			_, err = unix.FcntlInt(uintptr(r), unix.F_SETFL, unix.O_ASYNC)
		}
		if err != nil {
			return nil, os.NewSyscallError("pipe2 or fcntl", err)
		}
		d = append(d, r)
	}
	return d, nil
}

// aimAt makes the worker the process that is signalled. Until then none is, so it is
// the first thing to do with a new worker.
func (d deathPipes) aimAt(worker int) error {
	for _, fd := range d {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETOWN, worker); err != nil {
			return os.NewSyscallError("fcntl F_SETOWN", err)
		}
	}
	return nil
}

// numberedPipe makes a pipe, open as long as drainit lives, whose reading end
// has the lower number or the higher one.
func numberedPipe(readFirst bool) (r int, err error) {
	var ends [2]int // the kernel takes the lowest free numbers, in order
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil || readFirst {
		return ends[0], err
	}
	defer unix.Close(ends[0])
	return unix.FcntlInt(uintptr(ends[0]), unix.F_DUPFD_CLOEXEC, ends[1]+1)
}
