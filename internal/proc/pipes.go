package proc

import "golang.org/x/sys/unix"

// pipeID is a pipe, named or not.
type pipeID struct{ device, inode uint64 }

// readPipes finds which processes write to the pipes that others read, in one pass over
// all.
func (s *Snapshot) readPipes(w Want) {
	if w.ReadsPipe == nil {
		return
	}
	readers := make(map[pipeID][]int) // pids
	for _, p := range s.Descendants(w.Parents) {
		if w.ReadsPipe(p) {
			if pipe, ok := pipeAt(p.PID, "fd/0"); ok {
				readers[pipe] = append(readers[pipe], p.PID)
			}
		}
	}
	if len(readers) == 0 {
		return
	}
	s.writers = make(map[int][]int)
	for _, p := range s.Descendants(w.Parents) {
		out, ok := pipeAt(p.PID, "fd/1")
		if ok {
			s.noteWriter(p.PID, readers[out])
		}
		if errors, ok2 := pipeAt(p.PID, "fd/2"); ok2 && !(ok && errors == out) {
			s.noteWriter(p.PID, readers[errors])
		}
	}
}

func (s *Snapshot) noteWriter(writer int, readers []int) {
	for _, reader := range readers {
		if reader != writer {
			s.writers[reader] = append(s.writers[reader], writer)
		}
	}
}

// pipeAt is the pipe behind a descriptor. ok is false if there is none, or if it can't be
// told.
func pipeAt(pid int, fd string) (pipe pipeID, ok bool) {
	var st unix.Stat_t
	err := asOwner(pid, func() error { return unix.Stat(procPath(pid, fd), &st) })
	return pipeID{uint64(st.Dev), st.Ino}, err == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO
}
