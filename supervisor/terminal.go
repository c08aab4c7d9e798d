package supervisor

import (
	"golang.org/x/sys/unix"

	"drainit/reaper"
)

// terminal is drainit's controlling terminal, by a descriptor of its own.
type terminal struct{ fd int }

func (t terminal) exists() bool { return t.fd >= 0 }

// openTerminal finds the controlling terminal: /dev/tty, or without /dev the
// standard descriptor that answers as only that terminal does (ioctl_tty(2)).
func openTerminal() terminal {
	if fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err == nil {
		return terminal{fd}
	}
	for std := range 3 {
		if _, err := unix.IoctlGetInt(std, unix.TIOCGPGRP); err == nil {
			if fd, err := unix.FcntlInt(uintptr(std), unix.F_DUPFD_CLOEXEC, 3); err == nil {
				return terminal{fd}
			}
		}
	}
	return terminal{-1}
}

// lend makes the group the foreground one if drainit's is, so that it can read
// the terminal.
func (t terminal) lend(group int) {
	if fg, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP); err == nil && fg == unix.Getpgrp() {
		t.setForeground(group)
	}
}

// takeBack undoes lend, where the group still has the terminal.
func (t terminal) takeBack(group int) {
	if fg, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP); err == nil && fg == group {
		t.setForeground(unix.Getpgrp())
	}
}

// setForeground is tcsetpgrp(3). From the background it needs TTOU blocked on
// this thread: the kernel would send it, and Go catches it.
func (t terminal) setForeground(group int) {
	var before unix.Sigset_t
	block := signalSet(unix.SIGTTOU)
	if unix.PthreadSigmask(unix.SIG_BLOCK, &block, &before) != nil {
		return
	}
	// What fails leaves the terminal with whom it is; there is nobody to tell.
	_ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group)
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
}

// signalSet is a set of one signal below 32.
func signalSet(sig unix.Signal) (set unix.Sigset_t) {
	set.Val[0] = 1 << (sig - 1)
	return set
}

// lendTerminal continues a worker that the kernel stopped because it read the
// terminal, or set its modes, from the background.
func (s *supervisor) lendTerminal(c reaper.Change) {
	if !s.tty.exists() || c.PID != s.worker || !c.Status.Stopped() {
		return
	}
	if sig := c.Status.StopSignal(); sig != unix.SIGTTIN && sig != unix.SIGTTOU {
		return
	}
	s.tty.lend(s.group)
	if fg, err := unix.IoctlGetInt(s.tty.fd, unix.TIOCGPGRP); err == nil && fg == s.group {
		s.signalGroup(unix.SIGCONT)
	}
}
