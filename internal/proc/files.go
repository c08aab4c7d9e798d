package proc

import (
	"errors"
	"os"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// checkProc returns nil only for a /proc in which our own pid is ours. In a new
// PID namespace with the /proc of the old one, each pid names a stranger.
// The error is ErrNoProc, or one for the moment, which says nothing of /proc.
func checkProc() error {
	var self [20]byte
	n, err := retry(func() (int, error) {
		n, err := unix.Readlink("/proc/self", self[:])
		if err == unix.EACCES && wasOurs.Load() {
			err = unix.EAGAIN
		}
		return n, err
	})
	switch {
	case isTransient(err):
		return os.NewSyscallError("readlink /proc/self", err)
	case err != nil || string(self[:n]) != strconv.Itoa(os.Getpid()):
		return ErrNoProc
	}
	wasOurs.Store(true)
	return nil
}

// wasOurs is set once /proc has shown our own pid: what is denied later is so for the moment.
var wasOurs atomic.Bool

func procPath(pid int, name string) string {
	return "/proc/" + strconv.Itoa(pid) + "/" + name
}

// threadFile is where a file of a thread is, below its process. That of the main thread is the
// process's, too, and there it is found in half the time.
func threadFile(pid, tid int, name string) string {
	if tid == pid {
		return name
	}
	return "task/" + strconv.Itoa(tid) + "/" + name
}

// Descriptors returns the numbers of drainit's open descriptors, of which one
// is that of the look itself.
func Descriptors() ([]int, error) { return readPids("/proc/self/fd") }

// Cgroups returns /proc/PID/cgroup, which is the same for all processes of a
// container, and readable by every user (cgroups(7)).
func Cgroups(pid int) (string, error) {
	b, err := readSmall(procPath(pid, "cgroup"))
	return string(b), err
}

// readPids returns the numbers among the names in a folder of /proc.
func readPids(dir string) ([]int, error) {
	fd, err := openProc(dir, unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return readPidsOf(fd)
}

func readPidsOf(fd int) (pids []int, err error) {
	for buf := make([]byte, 8192); ; {
		n, err := retry(func() (int, error) { return unix.ReadDirent(fd, buf) })
		if err != nil {
			return nil, os.NewSyscallError("getdents64", err)
		}
		if n == 0 {
			return pids, nil
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			if pid, err := strconv.Atoi(name); err == nil {
				pids = append(pids, pid)
			}
		}
	}
}

// readSmall reads a file of /proc whole. All fit in a page but the status of a
// process in very many groups, which has its masks behind them.
func readSmall(path string) ([]byte, error) {
	fd, err := openProc(path, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var buf [page]byte
	var all []byte
	for {
		n, err := retry(func() (int, error) { return unix.Read(fd, buf[:]) })
		if err != nil {
			return nil, os.NewSyscallError("read "+path, err)
		}
		all = append(all, buf[:n]...)
		if n == 0 || len(all) < page {
			return all, nil
		}
	}
}

// page is what one read of a file of /proc returns at most, mostly.
const page = 4096

// readPart reads so many bytes at most, from an offset on, of a file of a process that can be
// as long as that likes.
func readPart(pid int, name string, at int64, size int) (b []byte, err error) {
	err = asOwner(pid, func() error {
		fd, err := openProc(procPath(pid, name), 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		b = make([]byte, size)
		n, err := retry(func() (int, error) { return unix.Pread(fd, b, at) })
		b = b[:max(n, 0)]
		return os.NewSyscallError("read "+name, err)
	})
	return b, err
}

// statFile reads of what type the file is that a path leads to, and which one it is. statx(2)
// asks no server for that: one may not answer. It came with Linux 4.11, and some seccomp
// profiles deny it.
func statFile(path string) (mode uint32, id File, err error) {
	var x unix.Statx_t
	err = unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_INO, &x)
	if err == unix.ENOSYS || err == unix.EPERM {
		var st unix.Stat_t
		err = unix.Stat(path, &st)
		return st.Mode, File{uint64(st.Dev), st.Ino}, err
	}
	return uint32(x.Mode), File{unix.Mkdev(x.Dev_major, x.Dev_minor), x.Ino}, err
}

// openProc goes around os.File, whose poller these files can't use and whose
// set-up would leave drainit two descriptors for nothing.
func openProc(path string, flags int) (int, error) {
	fd, err := retry(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|flags, 0) })
	return fd, os.NewSyscallError("open "+path, err)
}

// tries are how often a call is made that fails for the moment only.
const tries = 3

// retry makes a call again that was interrupted, and some times one that failed for
// the moment: a look with holes costs more, an exit status for one.
func retry(call func() (int, error)) (n int, err error) {
	for try := 1; ; {
		n, err = call()
		switch {
		case err == unix.EINTR:
		case isTransient(err) && try < tries:
			try++
		default:
			return n, err
		}
	}
}

// isTransient reports whether a call failed by what may be over soon, and is no
// matter of the process that was looked at.
func isTransient(err error) bool {
	return isResourceExhausted(err) || err == unix.EAGAIN || err == unix.EIO
}

// isResourceExhausted says that a read failed by a want of descriptors or memory. What it
// would show has holes.
func isResourceExhausted(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM)
}
