package proc

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// readPipes finds which processes write to the pipes that others read, in one pass over
// all: pipes are a pair of a device and an inode, whatever their names.
func (s *Snapshot) readPipes(w Want) {
	if w.ReadsPipe == nil {
		return
	}
	readers := make(map[string][]int) // pids, by the name of their pipe
	for _, p := range s.Descendants(w.Parents) {
		if w.ReadsPipe(p) {
			if pipe := pipeAt(p.PID, 0); pipe != "" {
				readers[pipe] = append(readers[pipe], p.PID)
			}
		}
	}
	if len(readers) == 0 {
		return
	}
	s.writers = make(map[int][]int)
	for _, p := range s.Descendants(w.Parents) {
		out, errors := pipeAt(p.PID, 1), pipeAt(p.PID, 2)
		for _, pipe := range slices.Compact([]string{out, errors}) {
			for _, reader := range readers[pipe] {
				if reader != p.PID {
					s.writers[reader] = append(s.writers[reader], p.PID)
				}
			}
		}
	}
}

// pipeAt is the name of the pipe behind a descriptor, "" if there is none.
func pipeAt(pid, fd int) string {
	link, err := os.Readlink(procPath(pid, "fd/"+strconv.Itoa(fd)))
	if err != nil || !strings.HasPrefix(link, "pipe:") {
		return ""
	}
	return link
}
