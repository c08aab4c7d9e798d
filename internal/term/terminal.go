// Package term is drainit's controlling terminal and its job control, in POSIX's words
// (General Terminal Interface): drainit is a job of the shell that started it, and the worker
// in turn a job of drainit.
//
// It owns the terminal's foreground process group and modes, and drainit's own stops. It must
// never take the foreground from another group, nor leave drainit stopped where no process could
// continue it.
package term

import (
	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// Terminal is drainit's controlling terminal, with the state to restore.
type Terminal struct {
	fd      int
	modes   *unix.Termios // before the worker could change them; nil until read
	granted bool          // the worker's group was given the foreground
}

// Open opens the controlling terminal: /dev/tty, or without /dev the standard descriptor that has a
// foreground group, as only that terminal does (ioctl_tty(2)). It returns nil where there is none.
func Open() *Terminal {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	for std := 0; err != nil && std < 3; std++ {
		if _, err = unix.IoctlGetInt(std, unix.TIOCGPGRP); err == nil {
			fd, err = unix.FcntlInt(uintptr(std), unix.F_DUPFD_CLOEXEC, 3)
		}
	}
	if err != nil {
		return nil
	}
	t := &Terminal{fd: fd}
	t.keepModes()
	return t
}

// hungUp stands for the foreground group of a terminal that is gone: every ioctl(2) fails.
const hungUp = -1

// foreground returns the process group that has the terminal, or hungUp.
func (t *Terminal) foreground() int {
	if group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP); err == nil {
		return group
	}
	return hungUp
}

// ours reports whether drainit's own group has the terminal.
func (t *Terminal) ours() bool { return t.foreground() == unix.Getpgrp() }

// keepModes keeps the modes from when drainit first has the terminal: later they may be the worker's.
func (t *Terminal) keepModes() {
	if t.modes == nil && t.ours() {
		t.modes, _ = unix.IoctlGetTermios(t.fd, unix.TCGETS)
	}
}

// restoreModes restores the modes if drainit's own group has the terminal. It does not wait for pending
// output, which may never be read (TCSETS).
func (t *Terminal) restoreModes() {
	if t.modes != nil && t.ours() {
		_ = fromBackground(func() error { return unix.IoctlSetTermios(t.fd, unix.TCSETS, t.modes) })
	}
}

// grantForeground gives a group the foreground if drainit's own group has it. It reports whether the group
// has it, or was given it before.
func (t *Terminal) grantForeground(group int) bool {
	if !t.ours() {
		return false
	}
	t.keepModes()
	t.granted = t.setForeground(group) || t.granted
	return t.granted
}

// reclaimForeground undoes grantForeground if the group still has the terminal. It also does if an empty
// group has it: a shell that was killed had given it to that group.
func (t *Terminal) reclaimForeground(group int) {
	if fg := t.foreground(); t.granted && (fg == group || fg > 1 && unix.Kill(-fg, 0) == unix.ESRCH) {
		t.setForeground(unix.Getpgrp())
		t.granted = false
	}
}

// setForeground makes a group the foreground group (tcsetpgrp(3)), and reports whether it has.
func (t *Terminal) setForeground(group int) bool {
	return fromBackground(func() error { return unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group) }) == nil
}

// fromBackground makes an ioctl with TTOU blocked on this thread. Otherwise, from the background, the kernel
// would send TTOU, Go would handle it, and the kernel would try again, for ever.
func fromBackground(ioctl func() error) error {
	var before unix.Sigset_t
	block := signals.Mask(unix.SIGTTOU)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &block, &before); err != nil {
		return err
	}
	err := ioctl()
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	return err
}
