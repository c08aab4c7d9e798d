package proc

import (
	"cmp"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// File is a file or a pipe; the zero File is none.
type File struct{ Device, Inode uint64 }

// HasWriters reports whether another process writes to the pipe that a process reads as its
// standard input.
func (s *Snapshot) HasWriters(pid int) bool {
	return slices.ContainsFunc(s.WritersTo(pid), func(writer int) bool { return writer != pid })
}

// WritersTo returns the pids of the processes that write to the pipe that a process reads.
func (s *Snapshot) WritersTo(pid int) []int {
	if p, ok := s.Process(pid); ok && p.Reads != (File{}) {
		return s.writers[p.Reads]
	}
	return nil
}

// AddWriter notes that a process writes to a pipe.
func (s *Snapshot) AddWriter(pipe File, pid int) { s.writers[pipe] = append(s.writers[pipe], pid) }

// readWriters reads which of these write to a pipe that one of them reads.
func (g *reading) readWriters(s *Snapshot, these []*Process) {
	read := make(map[File]bool)
	for _, p := range these {
		read[p.Reads] = true
	}
	if delete(read, File{}); len(read) == 0 {
		return
	}
	for _, p := range these {
		if !p.Alive() || !g.reads(p.PID, closely) {
			continue
		}
		out, errors := pipeAt(p.PID, "fd/1"), pipeAt(p.PID, "fd/2")
		if read[out] {
			s.AddWriter(out, p.PID)
		}
		if read[errors] && errors != out {
			s.AddWriter(errors, p.PID)
		}
	}
}

// pipeAt is the pipe at a descriptor, named or not; the zero File if there is none, or if it
// can't be known.
func pipeAt(pid int, fd string) File {
	file, err := statFile(pid, fd)
	if err != nil || file.mode&unix.S_IFMT != unix.S_IFIFO {
		return File{}
	}
	return file.File
}

// SameProgram reports whether a process runs the file that drainit itself runs. known is
// false where that may not be read.
func SameProgram(pid int) (same, known bool) {
	same, err := beside(new(Reader), func(g *reading) (bool, error) {
		g.reads(pid, closely)
		own, failed := statFile(os.Getpid(), "exe")
		its, err := statFile(pid, "exe")
		return own == its, cmp.Or(failed, err)
	})
	return same && err == nil, err == nil
}

// typedFile is a file and of what type it is.
type typedFile struct {
	File
	mode uint32
}

// statFile reads to which file a link of a process leads. statx(2) asks no server for that: one
// may not answer. It came with Linux 4.11, and some seccomp profiles deny it.
func statFile(pid int, link string) (typedFile, error) {
	return asOwner(pid, func() (typedFile, error) {
		var x unix.Statx_t
		path := procPath(pid, link)
		err := unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_INO, &x)
		if err == unix.ENOSYS || err == unix.EPERM {
			var st unix.Stat_t
			err = unix.Stat(path, &st)
			return typedFile{File{uint64(st.Dev), st.Ino}, st.Mode}, err
		}
		return typedFile{File{unix.Mkdev(x.Dev_major, x.Dev_minor), x.Ino}, uint32(x.Mode)}, err
	})
}
