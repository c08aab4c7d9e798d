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
	"drainit/reaper"
)

// Terminal is drainit's controlling terminal, by a descriptor of its own, and
// what drainit has to put back.
type Terminal struct {
	fd      int
	modes   *unix.Termios // before the worker could change them; nil if not read
	granted bool          // the worker's group was made the foreground one
}

// Exists reports whether drainit has a controlling terminal.
func (t *Terminal) Exists() bool { return t.fd >= 0 }

// Open finds the controlling terminal: /dev/tty, or without /dev the
// standard descriptor that answers as only that terminal does (ioctl_tty(2)).
func Open() Terminal {
	if fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err == nil {
		return Terminal{fd: fd}
	}
	for std := range 3 {
		if _, err := unix.IoctlGetInt(std, unix.TIOCGPGRP); err == nil {
			if fd, err := unix.FcntlInt(uintptr(std), unix.F_DUPFD_CLOEXEC, 3); err == nil {
				return Terminal{fd: fd}
			}
		}
	}
	return Terminal{fd: -1}
}

// foreground is the process group that reads the terminal and gets its signals;
// ok is false where there is no terminal, or it was hung up.
func (t *Terminal) foreground() (group int, ok bool) {
	if !t.Exists() {
		return 0, false
	}
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return group, err == nil
}

// ours reports whether drainit's own group has the terminal.
func (t *Terminal) ours() bool {
	group, ok := t.foreground()
	return ok && group == unix.Getpgrp()
}

// gone reports whether there was a terminal and it was hung up: every ioctl(2)
// fails then.
func (t *Terminal) gone() bool {
	_, ok := t.foreground()
	return t.Exists() && !ok
}

// keepModes reads the modes that drainit was given, the first time that it has the
// terminal: later they may be the worker's.
func (t *Terminal) keepModes() {
	if t.modes == nil && t.ours() {
		if modes, err := unix.IoctlGetTermios(t.fd, unix.TCGETS); err == nil {
			t.modes = modes
		}
	}
}

// restoreModes undoes what a worker has done to the modes that could not do it
// itself. It does not wait for the output, which may never be read (TCSETS).
func (t *Terminal) restoreModes() {
	if t.modes == nil || !t.ours() {
		return
	}
	if now, err := unix.IoctlGetTermios(t.fd, unix.TCGETS); err == nil && *now != *t.modes {
		_ = fromBackground(func() error { return unix.IoctlSetTermios(t.fd, unix.TCSETS, t.modes) })
	}
}

// grantForeground makes a group the foreground one if drainit's is. It never takes the
// terminal from another.
func (t *Terminal) grantForeground(group int) bool {
	if !t.ours() {
		return false
	}
	t.keepModes()
	t.granted = t.setForeground(group) || t.granted
	return t.granted
}

// reclaimForeground undoes grantForeground, where the group still has the terminal, or
// one has it in which no process lives: a shell that was killed had given it to its job.
func (t *Terminal) reclaimForeground(group int) {
	fg, ok := t.foreground()
	if t.granted && ok && (fg == group || reaper.GroupGone(fg)) {
		t.setForeground(unix.Getpgrp())
		t.granted = false
	}
}

// setForeground is tcsetpgrp(3). What fails leaves the terminal where it is.
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
