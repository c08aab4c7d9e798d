package logx

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"
)

// DefaultTerminationLog is where Kubernetes reads a container's last message.
const DefaultTerminationLog = "/dev/termination-log"

// WriteTerminationLog writes a termination message into a regular file that exists and is empty. A file that
// is not empty holds the application's own message, and is left alone. WriteTerminationLog never waits, not
// even for a reader of a pipe. An empty name or text writes nothing. A name is only relative, which is an
// error, if the working directory had been removed at the start.
func WriteTerminationLog(file, text string) error {
	if file == "" || text == "" {
		return nil
	}
	fd, size, err := openTerminationLog(file)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if size > 0 {
		return nil
	}
	text = Printable(text)
	text = text[:min(len(text), 4096)]                         // what Kubernetes keeps of it
	return WriteAll(fd, []byte(strings.ToValidUTF8(text, ""))) // no rune is cut in two
}

// ReportFaults has the Go runtime write its report of a fault of drainit's own to the termination log, too,
// behind the application's own message. An empty name does nothing. A file that is not there yet is no error.
func ReportFaults(file string) error {
	if file == "" {
		return nil
	}
	fd, _, err := openTerminationLog(file)
	if _, none := os.Stat(filepath.Dir(file)); err == unix.ENOENT && none == nil {
		return nil
	}
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), file)
	defer f.Close()
	return debug.SetCrashOutput(f, debug.CrashOptions{})
}

// openTerminationLog opens a file for a termination message, to append to it, and returns its size, too.
func openTerminationLog(file string) (fd int, size int64, err error) {
	if !filepath.IsAbs(file) {
		return -1, 0, errors.New("its directory has been removed")
	}
	fd, err = openNoLink(file)
	if err != nil {
		return -1, 0, err
	}
	var stat unix.Stat_t
	err = unix.Fstat(fd, &stat)
	switch {
	case err != nil:
	case stat.Mode&unix.S_IFMT != unix.S_IFREG:
		err = errors.New("not a regular file")
	case stat.Nlink > 1:
		err = errors.New("it has another name (a hard link)")
	default:
		return fd, stat.Size, nil
	}
	unix.Close(fd)
	return -1, 0, err
}

// openNoLink opens a file for writing, unless a symbolic link leads to it. If the folder is the worker's, a
// link could have drainit write as root wherever the worker likes. Where openat2(2) is missing or not
// permitted, only a link in the last part of the name is seen.
func openNoLink(file string) (fd int, err error) {
	const flags = unix.O_WRONLY | unix.O_APPEND | unix.O_NONBLOCK |
		unix.O_NOCTTY | unix.O_CLOEXEC | unix.O_NOFOLLOW
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
