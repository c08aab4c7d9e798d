package spawn

import (
	"os"

	"golang.org/x/sys/unix"
)

// signalAtDeath asks the kernel to send the worker one TERM when drainit dies, however it does. As PID 1 it
// does nothing: when PID 1 dies, the kernel ends everything.
//
// The parent-death signal (PR_SET_PDEATHSIG) does not do: it comes again each time that the worker passes
// from one dying thread of drainit's to the next, and a second TERM means force-stop. Instead the worker is
// made the owner of the signals of both ends of a pipe (F_SETOWN, F_SETSIG in fcntl(2)), which are open as
// long as drainit lives. When the kernel closes one of them, it signals the owner of the other (fs/pipe.c,
// pipe_release). When it closes the second one, there is no other, so TERM comes once.
func signalAtDeath(worker int) error {
	if os.Getpid() == 1 {
		return nil
	}
	var ends [2]int
	err := unix.Pipe2(ends[:], unix.O_CLOEXEC)
	settings := [][2]int{
		{unix.F_SETSIG, int(unix.SIGTERM)},
		{unix.F_SETOWN, worker},
		{unix.F_SETFL, unix.O_ASYNC},
	}
	for _, fd := range ends {
		for _, set := range settings {
			if err == nil {
				_, err = unix.FcntlInt(uintptr(fd), set[0], set[1])
			}
		}
	}
	return err // a warning: the worker runs all the same
}

// WatchParent asks the kernel for the signal sig when drainit's parent dies. parent is its pid, read at the
// start. If the parent has died before the asking (PR_SET_PDEATHSIG(2const)), WatchParent sends sig itself.
func WatchParent(parent int, sig unix.Signal) error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(sig), 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl PR_SET_PDEATHSIG", err)
	}
	if os.Getppid() != parent {
		return os.NewSyscallError("kill", unix.Kill(os.Getpid(), sig))
	}
	return nil
}
