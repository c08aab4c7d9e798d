package proc

import "golang.org/x/sys/unix"

// File is a file or a pipe; the zero File is none.
type File struct{ Device, Inode uint64 }

// HasWriters reports whether another process writes to the pipe that a process reads as its
// standard input.
func (s *Snapshot) HasWriters(pid int) bool {
	all := s.WritersTo(pid)
	return len(all) > 1 || len(all) == 1 && all[0] != pid
}

// WritersTo returns the pids of the processes that write to the pipe that a process reads.
func (s *Snapshot) WritersTo(pid int) []int {
	if p, ok := s.find(pid); ok && p.Reads != (File{}) {
		return s.writers[p.Reads]
	}
	return nil
}

// readWriters reads which of these write to a pipe that one of them reads.
func (g *reading) readWriters(s *Snapshot, these []int) {
	read := make(map[File]bool)
	for _, i := range these {
		read[s.all[i].Reads] = true
	}
	if delete(read, File{}); len(read) == 0 {
		return
	}
	for _, i := range these {
		p := &s.all[i]
		if !p.Alive() || p.hangs {
			continue
		}
		g.reads(p.PID, closely)
		out, errors := pipeAt(p.PID, "fd/1"), pipeAt(p.PID, "fd/2")
		if read[out] {
			s.AddWriter(out, p.PID)
		}
		if read[errors] && errors != out {
			s.AddWriter(errors, p.PID)
		}
	}
}

// AddWriter notes that a process writes to a pipe.
func (s *Snapshot) AddWriter(pipe File, pid int) { s.writers[pipe] = append(s.writers[pipe], pid) }

// pipeAt is the pipe at a descriptor, named or not; the zero File if there is none, or if it
// can't be known.
func pipeAt(pid int, fd string) (pipe File) {
	var mode uint32
	err := asOwner(pid, func() (err error) {
		mode, pipe, err = statFile(procPath(pid, fd))
		return err
	})
	if err != nil || mode&unix.S_IFMT != unix.S_IFIFO {
		return File{}
	}
	return pipe
}
