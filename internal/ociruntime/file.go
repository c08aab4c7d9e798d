package ociruntime

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// replace writes a file anew, at one moment, with this mode and owner. If it fails, what was there stays.
func replace(file string, text []byte, mode, uid, gid int) error {
	return atOnce(file, func(beside string) error {
		fd, err := unix.Open(beside, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		for len(text) > 0 && err == nil {
			var n int
			n, err = unix.Write(fd, text)
			text = text[max(n, 0):]
		}
		if err == nil {
			err = unix.Fchown(fd, uid, gid)
		}
		if err == nil {
			err = unix.Fchmod(fd, uint32(mode)) // after the change of owner, and whatever the umask is
		}
		return err
	})
}

// atOnce has a file made under another name beside it, and gives it its own.
func atOnce(file string, make func(beside string) error) error {
	beside := file + ".drainit-" + strconv.Itoa(os.Getpid())
	err := make(beside)
	if err == nil {
		err = unix.Rename(beside, file)
	}
	if err != nil {
		_ = unix.Unlink(beside) // if it is there: the error is known
		return fmt.Errorf("cannot write %s: %w", file, err)
	}
	return nil
}
