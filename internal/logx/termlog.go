package logx

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// DefaultTerminationLog is where Kubernetes reads a container's last message,
// unless the manifest says otherwise (terminationMessagePath).
const DefaultTerminationLog = "/dev/termination-log"

// WriteTerminationLog writes a termination message, also for what ends drainit before
// there is a worker. An empty name or text writes nothing.
func WriteTerminationLog(file, text string) error {
	if file == "" || text == "" {
		return nil
	}
	return writeEmpty(file, Printable(text))
}

// writeEmpty writes text into a regular file that exists and is empty; one that
// is not empty is left alone. It never waits, for a reader of a pipe least of all.
func writeEmpty(file, text string) error {
	const atMost = 4096 // what Kubernetes keeps of it
	fd, err := openPlain(file)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if isEmpty, err := checkPlain(fd); err != nil || !isEmpty {
		return err
	}
	text = strings.ToValidUTF8(text[:min(len(text), atMost)], "") // no rune is cut in two
	return WriteAll(fd, []byte(text))
}

// openPlain opens a file for writing that no link leads to: where the folder is the
// worker's, that could have drainit write as root wherever it likes.
func openPlain(file string) (fd int, err error) {
	const flags = unix.O_WRONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC | unix.O_NOFOLLOW
	how := unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_SYMLINKS}
	for err = unix.EINTR; err == unix.EINTR; {
		fd, err = unix.Openat2(unix.AT_FDCWD, file, &how)
		if err == unix.ENOSYS || err == unix.EPERM { // before Linux 5.6, or a seccomp profile of then
			fd, err = unix.Open(file, flags, 0)
		}
	}
	if err == unix.ELOOP {
		return fd, errors.New("a symbolic link leads to it")
	}
	return fd, err
}

// checkPlain reports whether an open file is empty. The error says that it is no file which
// a message may be written to.
func checkPlain(fd int) (isEmpty bool, err error) {
	var stat unix.Stat_t
	var system unix.Statfs_t
	if err := errors.Join(unix.Fstat(fd, &stat), unix.Fstatfs(fd, &system)); err != nil {
		return false, err
	}
	switch {
	case stat.Mode&unix.S_IFMT != unix.S_IFREG:
		return false, errors.New("it is no regular file")
	case stat.Nlink > 1:
		return false, errors.New("it has another name (a hard link)")
	case isKernels(int64(system.Type)):
		return false, errors.New("it is a file of the kernel's")
	}
	return stat.Size == 0, nil
}

// isKernels reports whether a file system is one in which to write is to change a setting:
// its files have no size (statfs(2)).
func isKernels(fs int64) bool {
	switch fs & 0xffffffff {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC,
		unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC, unix.SELINUX_MAGIC, unix.BPF_FS_MAGIC:
		return true
	}
	return false
}
