package logx

import (
	"errors"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// DefaultTerminationLog is where Kubernetes reads a container's last message.
const DefaultTerminationLog = "/dev/termination-log"

// WriteTerminationLog writes a termination message into a regular file that exists and is
// empty; one that is not empty holds the application's own message and is left alone. It
// never waits, for a reader of a pipe least of all. An empty name or text writes nothing. A name
// is relative only where the working directory had none at the start.
func WriteTerminationLog(file, text string) error {
	if file == "" || text == "" {
		return nil
	}
	if !filepath.IsAbs(file) {
		return errors.New("its directory has been removed")
	}
	fd, err := openNoLink(file)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	switch {
	case stat.Mode&unix.S_IFMT != unix.S_IFREG:
		return errors.New("not a regular file")
	case stat.Nlink > 1:
		return errors.New("it has another name (a hard link)")
	case stat.Size > 0:
		return nil
	}
	text = Printable(text)
	text = text[:min(len(text), 4096)]                         // what Kubernetes keeps of it
	return WriteAll(fd, []byte(strings.ToValidUTF8(text, ""))) // no rune is cut in two
}

// openNoLink opens a file for writing that no link leads to: where the folder is the
// worker's, that could have drainit write as root wherever it likes.
func openNoLink(file string) (fd int, err error) {
	const flags = unix.O_WRONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC | unix.O_NOFOLLOW
	how := unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_SYMLINKS}
	for err = unix.EINTR; err == unix.EINTR; {
		fd, err = unix.Openat2(unix.AT_FDCWD, file, &how)
		if err == unix.ENOSYS || err == unix.EPERM { // before Linux 5.6, or a seccomp profile of then
			fd, err = unix.Open(file, flags, 0)
		}
	}
	if err == unix.ELOOP {
		err = errors.New("a symbolic link leads to it")
	}
	return fd, err
}
