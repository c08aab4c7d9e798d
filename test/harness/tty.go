package harness

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// NewTerminal opens a terminal that the test may hang up: a read of the master
// does not hold it open.
func NewTerminal(t *testing.T) (master, slave *os.File) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	Must(t, err)
	t.Cleanup(func() { master.Close() })
	number := 0
	Must(t, Control(master, func(fd int) (err error) {
		if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err == nil {
			number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		}
		return err
	}))
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	Must(t, err)
	t.Cleanup(func() { slave.Close() })
	Must(t, Control(master, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}))
	return master, slave
}

// OnTerminal gives an init a controlling terminal, on its standard input. Then
// the worker does not lead a session but a process group, which the kernel does
// not call orphaned: by its default action TSTP stops it for good.
func OnTerminal(t *testing.T, l Launch) Launch { _, l.TTY = NewTerminal(t); return l }

// Control calls f with the descriptor of a file that stays non-blocking, which its method Fd
// would end, and that may have been closed.
func Control(file *os.File, f func(fd int) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	if closed := raw.Control(func(fd uintptr) { err = f(int(fd)) }); closed != nil {
		return closed
	}
	return err
}
