package reaper

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// checkProc returns nil only for a /proc in which our own pid is ours. In a new
// PID namespace with the /proc of the old one, each pid names a stranger.
func checkProc() error {
	self, err := os.Readlink("/proc/self")
	if err != nil || self != strconv.Itoa(os.Getpid()) {
		return ErrNoProc
	}
	return nil
}

func procPath(pid int, name string) string {
	return "/proc/" + strconv.Itoa(pid) + "/" + name
}

// Descriptors returns the numbers of drainit's open descriptors, of which one
// is that of the look itself.
func Descriptors() ([]int, error) { return readPids("/proc/self/fd") }

// readPids returns the numbers among the names in a folder of /proc.
func readPids(dir string) ([]int, error) {
	fd, err := openProc(dir, unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var pids []int
	for buf := make([]byte, 8192); ; {
		n, err := retry(func() (int, error) { return unix.ReadDirent(fd, buf) })
		if err != nil {
			return nil, os.NewSyscallError("getdents64 "+dir, err)
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
	var page [4096]byte
	var all []byte
	for {
		n, err := unix.Read(fd, page[:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, os.NewSyscallError("read "+path, err)
		}
		all = append(all, page[:n]...)
		if n == 0 || len(all) < len(page) {
			return all, nil
		}
	}
}

// readPage reads the beginning of a file of /proc that can be as long as its
// process likes.
func readPage(path string) ([]byte, error) {
	fd, err := openProc(path, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	page := make([]byte, 4096)
	n, err := retry(func() (int, error) { return unix.Read(fd, page) })
	return page[:max(n, 0)], os.NewSyscallError("read "+path, err)
}

// openProc goes around os.File, whose poller these files can't use and whose
// set-up would leave drainit two descriptors for nothing.
func openProc(path string, flags int) (int, error) {
	fd, err := retry(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|flags, 0) })
	return fd, os.NewSyscallError("open "+path, err)
}

func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}
