package harness

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// OnTerminal gives an init a controlling terminal, on its standard input. Then
// the worker does not lead a session but a process group, which the kernel does
// not call orphaned: by its default action TSTP stops it for good.
func OnTerminal(t *testing.T, l Launch) Launch {
	t.Helper()
	_, slave := OpenPty(t)
	return OnThis(slave, l)
}

// OnThis is OnTerminal for a terminal that there is already.
func OnThis(slave *os.File, l Launch) Launch {
	if l.Bin == "" {
		l.Bin = DrainitBin
	}
	l.Args = append([]string{"ctty", l.Bin}, l.Args...)
	l.Bin, l.Stdin = WorkerBin, slave
	return l
}

// OpenPty opens a new terminal, for as long as the test runs.
func OpenPty(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, slave = openTerminal(t)
	master.Fd() // makes it blocking
	return master, slave
}

// openTerminal opens a new terminal, whose master stays non-blocking.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	number := 0
	onDescriptor(t, master, func(fd int) (err error) {
		if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err == nil {
			number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		}
		return err
	})
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}
