package proc

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// File is a pipe, or one end of a pair of sockets, which some shells and Node use instead of a pipe. The zero
// File is no file.
type File struct {
	Device, Inode uint64
	Socket        bool
}

// written are the files whose readers see what is written to one. /proc does not tell the other end of a
// socket, but a pair has inodes in a row (net/socket.c, __sys_socketpair), unless the kernel made another
// between the two.
func (f File) written() []File {
	if !f.Socket {
		return []File{f}
	}
	return []File{{f.Device, f.Inode - 1, true}, {f.Device, f.Inode + 1, true}}
}

// HasWriters reports whether another process writes, or may write, to the pipe at the standard input of a
// process.
func (s *Snapshot) HasWriters(pid int) bool {
	p, another := s.find(pid), func(writer int) bool { return writer != pid }
	return p != nil && p.Reads != File{} && (s.unsure || slices.ContainsFunc(s.WritersTo(pid), another))
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

// readWriters reads which of these write to a pipe that one of them reads. What the root was given is
// written from elsewhere. Where there is no time for that, any pipe may have a writer.
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
		if !p.Alive() || !g.reads(p.PID, closely) {
			continue
		}
		for _, fd := range []string{"1", "2"} {
			to := pipeAt(p.PID, fd)
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

// pipeAt is the pipe or socket at a descriptor; the zero File if there is none, or if it can't be known.
// statx(2) asks no server, which may not answer. It came with Linux 4.11, and some seccomp profiles deny it.
func pipeAt(pid int, fd string) File {
	pipe, _ := asOwner(pid, func() (pipe File, err error) {
		path := procPath(pid, "fd/"+fd)
		var x unix.Statx_t
		err = unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_INO, &x)
		if err == unix.ENOSYS || err == unix.EPERM {
			var st unix.Stat_t
			err = unix.Stat(path, &st)
			x.Mode, x.Dev_major, x.Dev_minor, x.Ino = uint16(st.Mode), unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino
		}
		if kind := x.Mode & unix.S_IFMT; kind == unix.S_IFIFO || kind == unix.S_IFSOCK {
			pipe = File{unix.Mkdev(x.Dev_major, x.Dev_minor), x.Ino, kind == unix.S_IFSOCK}
		}
		return pipe, err
	})
	return pipe
}
