package proc

import "golang.org/x/sys/unix"

// pipes are those of which it was asked: what each process reads, and which processes
// write to each.
type pipes struct {
	readBy  map[int]fileID
	writers map[fileID][]int
}

// HasWriters reports whether another process below drainit writes to the pipe which a
// process reads as its standard input; false where that was not asked for.
func (s *Snapshot) HasWriters(pid int) bool {
	if s == nil {
		return false
	}
	all := s.writersTo(pid)
	return len(all) > 1 || len(all) == 1 && all[0] != pid
}

func (s *Snapshot) writersTo(pid int) []int {
	if pipe, ok := s.pipes.readBy[pid]; ok {
		return s.pipes.writers[pipe]
	}
	return nil
}

// PipeWriters returns the pids of those that write to any of these pipes.
func (s *Snapshot) PipeWriters() (all []int) {
	if s == nil {
		return nil
	}
	for _, writers := range s.pipes.writers {
		all = append(all, writers...)
	}
	return all
}

// madeUpPipes are a pipe for each reader of these.
func madeUpPipes(writers map[int][]int) pipes {
	p := pipes{make(map[int]fileID), make(map[fileID][]int)}
	for reader, all := range writers {
		pipe := fileID{inode: uint64(reader)}
		p.readBy[reader], p.writers[pipe] = pipe, all
	}
	return p
}

// readPipes finds which processes write to the pipes that others read, in one pass over
// all.
func (g *reading) readPipes(s *Snapshot, w Want) {
	if w.ReadsPipe == nil {
		return
	}
	read := make(map[fileID]bool)
	s.pipes.readBy = make(map[int]fileID)
	below := s.Descendants(w.Parents)
	for _, p := range below {
		if !p.hangs && g.asks(func() bool { return w.ReadsPipe(*p) }) {
			g.reads(p.PID, closely)
			if pipe, ok := pipeAt(p.PID, "fd/0"); ok {
				read[pipe], s.pipes.readBy[p.PID] = true, pipe
			}
		}
	}
	if len(read) == 0 {
		return
	}
	s.pipes.writers = make(map[fileID][]int)
	for _, p := range below {
		if p.hangs {
			continue
		}
		g.reads(p.PID, closely)
		out, ok := pipeAt(p.PID, "fd/1")
		if ok && read[out] {
			s.pipes.writers[out] = append(s.pipes.writers[out], p.PID)
		}
		if errors, ok2 := pipeAt(p.PID, "fd/2"); ok2 && !(ok && errors == out) && read[errors] {
			s.pipes.writers[errors] = append(s.pipes.writers[errors], p.PID)
		}
	}
}

// pipeAt is the pipe behind a descriptor, named or not. ok is false if there is none, or if it
// can't be known.
func pipeAt(pid int, fd string) (pipe fileID, ok bool) {
	var mode uint32
	err := asOwner(pid, func() (err error) {
		mode, pipe, err = statFile(procPath(pid, fd))
		return err
	})
	return pipe, err == nil && mode&unix.S_IFMT == unix.S_IFIFO
}
