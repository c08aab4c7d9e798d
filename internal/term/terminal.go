// Package term is drainit's controlling terminal and its job control, in POSIX's words
// (General Terminal Interface; "Job Control" in the rationale): drainit is a job of the
// shell that started it, and the worker in turn a job of drainit's.
//
// It owns the terminal's foreground process group and modes as far as drainit changes
// them, and drainit's own stops. It must never take the foreground from another group,
// nor leave drainit stopped where no process could continue it.
package term

import (
	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// Terminal is drainit's controlling terminal, by a descriptor of its own, and its state that
// drainit has to restore.
type Terminal struct {
	fd      int
	modes   *unix.Termios // before the worker could change them; nil if not read
	granted bool          // the worker's group was made the foreground one
}

// Open finds the controlling terminal: /dev/tty, or without /dev the standard descriptor
// that answers as only that terminal does (ioctl_tty(2)). It returns nil where there is none.
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

// foreground is the process group that reads the terminal and gets its signals, or hungUp.
func (t *Terminal) foreground() int {
	if group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP); err == nil {
		return group
	}
	return hungUp
}

// ours reports whether drainit's own group has the terminal.
func (t *Terminal) ours() bool { return t.foreground() == unix.Getpgrp() }

// keepModes reads the modes when drainit first has the terminal: later they may be the worker's.
func (t *Terminal) keepModes() {
	if t.modes == nil && t.ours() {
		t.modes, _ = unix.IoctlGetTermios(t.fd, unix.TCGETS)
	}
}

// restoreModes puts them back, and waits for no output, which may never be read (TCSETS).
func (t *Terminal) restoreModes() {
	if t.modes != nil && t.ours() {
		_ = fromBackground(func() error { return unix.IoctlSetTermios(t.fd, unix.TCSETS, t.modes) })
	}
}

// grantForeground makes a group the foreground one if drainit's is, and takes it from no other.
func (t *Terminal) grantForeground(group int) bool {
	if !t.ours() {
		return false
	}
	t.keepModes()
	t.granted = t.setForeground(group) || t.granted
	return t.granted
}

// reclaimForeground undoes grantForeground, where the group still has the terminal, or one that
// has no process: a shell that was killed had given it to its job.
func (t *Terminal) reclaimForeground(group int) {
	if fg := t.foreground(); t.granted && (fg == group || fg > 1 && unix.Kill(-fg, 0) == unix.ESRCH) {
		t.setForeground(unix.Getpgrp())
		t.granted = false
	}
}

// setForeground is tcsetpgrp(3). A failure leaves the terminal where it is.
func (t *Terminal) setForeground(group int) bool {
	return fromBackground(func() error { return unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group) }) == nil
}

// fromBackground makes an ioctl of the terminal's that a process in the background may
// make only with TTOU blocked on its thread: the kernel would send that, Go would handle
// it, and the kernel would begin again, for ever.
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
