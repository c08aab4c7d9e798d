package proc

import (
	"errors"
	"os"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// checkProc returns nil if /proc/self is our own pid. It is another one in a new PID namespace with the /proc
// of the old one. The error is then ErrNoProc, as it is if /proc is not mounted or was denied from the start.
// Any other error is for the moment, and says nothing about /proc.
func checkProc() error {
	var self [20]byte
	n, err := retry(func() (int, error) { return unix.Readlink("/proc/self", self[:]) })
	isOurs := err == nil && string(self[:n]) == strconv.Itoa(os.Getpid())
	wasOurs.CompareAndSwap(false, isOurs)
	if !isOurs && (err == nil || IsGone(err) || isNotPermitted(err) && !wasOurs.Load()) {
		return ErrNoProc
	}
	return os.NewSyscallError("readlink /proc/self", err)
}

// wasOurs is set once /proc has shown our own pid: a later refusal is for the moment.
var wasOurs atomic.Bool

// procPath returns the path of a file of a process or a thread. A thread has a folder /proc/TID, too, though
// /proc does not list it (proc(5)).
func procPath(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// RunsAnother reports whether a process is known to run another program than drainit. A copy of drainit, such
// as one that a container engine makes, does not count as another: its file has the same length.
func (r *Reader) RunsAnother(pid int) (another bool) {
	another, _ = withTimeout(r, func(g *reading) (bool, error) {
		if !g.mayRead(pid, details) {
			return false, ErrNoAnswer
		}
		own, failed := os.Stat("/proc/self/exe")
		its, err := asOwner(pid, func() (os.FileInfo, error) { return os.Stat(procPath(pid, "exe")) })
		return failed == nil && err == nil && own.Size() != its.Size(), err
	})
	return another
}

// IsEmulated reports whether an emulator such as qemu-user runs this process. It answers os.Executable with
// the program, and shows itself to stat(2).
func IsEmulated() bool {
	name, _ := os.Executable()
	own, _ := os.Stat(name)
	runs, _ := os.Stat("/proc/self/exe")
	return !os.SameFile(own, runs)
}

// Descriptors returns drainit's open descriptors, including that of the read itself.
func Descriptors() ([]int, error) { return readPids("/proc/self/fd") }

// ReadWhole reads a file of a process, even one for which ptrace access is needed. Call it on a locked
// thread.
func ReadWhole(pid int, name string) (string, error) {
	b, err := readPart(pid, name, 0, 1<<20) // more than a command line, and what drainit writes (title.Notes)
	return string(b), err
}

// ReadOpen reads the open file of a process that /proc shows by the name shown. It returns "" if there is
// none. Call it on a locked thread.
func ReadOpen(pid int, shown string) (string, error) {
	fds, err := asOwner(pid, func() ([]int, error) { return readPids(procPath(pid, "fd")) })
	for _, fd := range fds {
		file := "fd/" + strconv.Itoa(fd)
		if name, _ := readLink(pid, file); name == shown {
			return ReadWhole(pid, file)
		}
	}
	return "", err
}

// readPids returns the numbers among the names in a folder of /proc.
func readPids(dir string) (pids []int, err error) {
	fd, err := openProc(dir, unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
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

// page is the most that one read of a file of /proc returns, as a rule.
const page = 4096

// readSmall reads a file of /proc whole, in as many reads as it needs. One read is enough for all that fit in
// a page. The status of a process in very many groups does not, and its masks stand after the groups.
func readSmall(path string) (all []byte, err error) {
	fd, err := openProc(path, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for buf := [page]byte{}; ; {
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

// readPart reads up to size bytes of a file of a process, from offset at. It makes one read, so the file need
// not have an end.
func readPart(pid int, name string, at int64, size int) ([]byte, error) {
	return asOwner(pid, func() ([]byte, error) {
		fd, err := openProc(procPath(pid, name), 0)
		if err != nil {
			return nil, err
		}
		defer unix.Close(fd)
		b := make([]byte, size)
		n, err := retry(func() (int, error) { return unix.Pread(fd, b, at) })
		return b[:max(n, 0)], os.NewSyscallError("read "+name, err)
	})
}

// asOwner runs a function that reads a file of /proc for which ptrace access is needed: exe, fd, syscall or
// mem. If root is refused, it runs it again with the user and group of the process: in Docker root has no
// CAP_SYS_PTRACE, but the owner may read (ptrace(2), FSCREDS). A drainit that has a worker must not run it on
// the main thread, whose parent-death signal setfsuid(2) clears. The kernel clears the dumpable flag of
// drainit, too (kernel/cred.c, commit_creds), and asOwner sets it again.
func asOwner[T any](pid int, read func() (T, error)) (T, error) {
	got, err := read()
	if !isNotPermitted(err) || os.Geteuid() != 0 {
		return got, err
	}
	var owner unix.Stat_t
	if unix.Stat(procPath(pid, ""), &owner) != nil || owner.Uid == 0 && owner.Gid == 0 {
		return got, err
	}
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	_, _ = unix.SetfsgidRetGid(int(owner.Gid))
	_, _ = unix.SetfsuidRetUid(int(owner.Uid))
	defer func() { // with the user the capabilities for files come back
		_, _ = unix.SetfsuidRetUid(os.Geteuid())
		_, _ = unix.SetfsgidRetGid(os.Getegid())
		if err == nil && dumpable == 1 {
			_ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
		}
	}()
	return read()
}

// readLink reads a link in the folder of a process.
func readLink(pid int, name string) (string, error) {
	return asOwner(pid, func() (string, error) { return os.Readlink(procPath(pid, name)) })
}

// openProc opens a file of /proc. It does without os.File, whose poller would take two more descriptors.
func openProc(path string, flags int) (fd int, err error) {
	fd, err = retry(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|flags, 0) })
	if err != nil {
		err = os.NewSyscallError("open "+path, err)
	}
	return fd, err
}

// retry makes a system call, and makes it again, twice at most, if it was interrupted or failed for the
// moment. A snapshot with holes costs more, such as an exit status.
func retry(do func() (int, error)) (n int, err error) {
	for range 3 {
		n, err = do()
		if err != unix.EINTR && err != unix.EAGAIN && err != unix.EIO && !isResourceExhausted(err) {
			break
		}
	}
	return n, err
}

// isResourceExhausted reports whether a read failed for want of descriptors or memory.
func isResourceExhausted(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM)
}

func isNotPermitted(err error) bool {
	return errors.Is(err, os.ErrPermission)
}

// IsGone reports whether a read of /proc failed because the process has ended.
func IsGone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH)
}
