package proc

import (
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// File is a pipe, or one end of a pair of sockets, which some shells and Node use instead of a pipe. The zero
// File is no file.
type File struct {
	Device, Inode uint64
	Socket        bool
}

// written returns the files whose readers see what is written to f: f itself if it is a pipe, and the other
// end if it is a socket. /proc does not show the other end, but the inodes of the two sockets of a pair
// mostly have consecutive numbers (net/socket.c, __sys_socketpair), in either order. So both neighbours of a
// socket are returned.
func (f File) written() []File {
	if !f.Socket {
		return []File{f}
	}
	return []File{{f.Device, f.Inode - 1, true}, {f.Device, f.Inode + 1, true}}
}

// HasWriters reports whether another process writes, or may write, to the pipe at the standard input of a
// process.
func (s *Snapshot) HasWriters(pid int) bool {
	p := s.find(pid)
	return p != nil && p.Reads != File{} && (s.unsure || s.ShowsWriters(pid))
}

// ShowsWriters reports whether another process is seen to write to the pipe at the standard input of a
// process.
func (s *Snapshot) ShowsWriters(pid int) bool {
	return slices.ContainsFunc(s.WritersTo(pid), func(writer int) bool { return writer != pid })
}

// WritersTo returns the pids of the processes that write to the pipe that a process reads.
func (s *Snapshot) WritersTo(pid int) []int {
	if p := s.find(pid); p != nil {
		return s.writers[p.Reads]
	}
	return nil
}

// IsRead reports whether another process reads, or may read, a pipe that a process writes to.
func (s *Snapshot) IsRead(pid int) bool {
	for _, writers := range s.writers {
		if slices.Contains(writers, pid) {
			return true
		}
	}
	return s.unsure
}

// AddWriter notes that a process writes to a pipe.
func (s *Snapshot) AddWriter(pipe File, pid int) { s.writers[pipe] = append(s.writers[pipe], pid) }

// readWriters reads which of these processes write to a pipe that one of them reads. given is the pipe that
// the root had as standard input. It does not count, because its writers are elsewhere. When time runs out,
// any pipe may have a writer.
func (g *reading) readWriters(s *Snapshot, these []*Process, given File, until time.Time) {
	read := make(map[File]bool)
	for _, p := range these {
		if p.Reads == given {
			p.Reads = File{}
		}
		read[p.Reads] = true
	}
	if delete(read, File{}); len(read) == 0 {
		return
	}
	for n, p := range these {
		if s.unsure = n > 0 && time.Now().After(until); s.unsure {
			return
		}
		if !p.Alive() || !g.mayRead(p.PID, details) {
			continue
		}
		for _, fd := range []string{"1", "2"} {
			to := openAt(p.PID, fd).pipe()
			if to.Socket && to == p.Reads {
				continue // a connection, as inetd gives it: another's may be next to it
			}
			for _, file := range to.written() {
				if w := s.writers[file]; read[file] && (len(w) == 0 || w[len(w)-1] != p.PID) {
					s.AddWriter(file, p.PID)
				}
			}
		}
	}
}

// openFile is a file that a process has open. The zero openFile stands for a file that is not known.
type openFile struct {
	File
	kind uint16 // of its mode
	null bool   // it is /dev/null
}

// pipe is the file if it is a pipe or a socket, else the zero File.
func (f openFile) pipe() File {
	if f.kind != unix.S_IFIFO && f.kind != unix.S_IFSOCK {
		return File{}
	}
	return f.File
}

// openAt returns the file at a descriptor. It uses statx(2), which asks no file server: a server may not
// answer. Before Linux 4.11, or if a seccomp profile denies statx, it uses stat(2).
func openAt(pid int, fd string) openFile {
	file, _ := asOwner(pid, func() (file openFile, err error) {
		path := procPath(pid, "fd/"+fd)
		var x unix.Statx_t
		err = unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_INO, &x)
		if err == unix.ENOSYS || err == unix.EPERM {
			var st unix.Stat_t
			err = unix.Stat(path, &st)
			x.Mode, x.Ino = uint16(st.Mode), st.Ino
			x.Dev_major, x.Dev_minor = unix.Major(st.Dev), unix.Minor(st.Dev)
			x.Rdev_major, x.Rdev_minor = unix.Major(st.Rdev), unix.Minor(st.Rdev)
		}
		if err == nil {
			kind := x.Mode & unix.S_IFMT
			file = openFile{File{unix.Mkdev(x.Dev_major, x.Dev_minor), x.Ino, kind == unix.S_IFSOCK}, kind,
				kind == unix.S_IFCHR && x.Rdev_major == 1 && x.Rdev_minor == 3}
		}
		return file, err
	})
	return file
}

// mostJobs limits how many children's standard inputs are compared with their parent's.
const mostJobs = 64

// readInput reads what the standard input of a process is. A shell without job control gives a command in the
// background /dev/null, opened to read. If the shell's own input is /dev/null, too, only the access mode
// tells the two apart.
func (p *Process) readInput(parent *Process) {
	p.input = openAt(p.PID, "0")
	p.Reads = p.input.pipe()
	switch {
	case p.input == (openFile{}) || parent.input == (openFile{}):
	case p.input != parent.input && p.input.null:
		p.Input = NullInput
	case p.input != parent.input:
		p.Input = AnotherInput
	case !p.input.null:
		p.Input = ParentsInput
	default:
		own, known := openedTo(parent.PID, "0")
		its, alike := openedTo(p.PID, "0")
		switch {
		case !known || !alike || own == unix.O_RDONLY: // nothing would show the difference
		case own == its:
			p.Input = ParentsInput
		default:
			p.Input = NullInput
		}
	}
}

// openedTo returns the access mode with which a descriptor was opened. ok is false if it can't be read. The
// other flags are left out, since they depend on the program that opened the file.
func openedTo(pid int, fd string) (mode uint64, ok bool) {
	b, err := asOwner(pid, func() ([]byte, error) { return readSmall(procPath(pid, "fdinfo/"+fd)) })
	value, _ := valueOf(b, "flags")
	flags, failed := strconv.ParseUint(string(value), 8, 64)
	return flags & unix.O_ACCMODE, err == nil && failed == nil
}
