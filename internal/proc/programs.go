package proc

import (
	"os"
	"path/filepath"
	"strings"
)

// readPrograms reads what runs these processes. A script's comm is its own name, so
// only the link to the executable tells a shell; and what a busybox or a node is,
// only its arguments.
func (r *Reader) readPrograms(s *Snapshot, these []int) {
	lines := make([]part, len(these))
	for n, i := range these {
		p := &s.all[i]
		if link, err := os.Readlink(procPath(p.PID, "exe")); err == nil {
			p.Exe = filepath.Base(trimDeleted(link))
		}
		lines[n].file = procPath(p.PID, "cmdline")
	}
	for n, page := range r.readWithTimeout(lines) {
		if page != nil {
			s.all[these[n]].Args = strings.Split(strings.TrimRight(string(page), "\x00"), "\x00")
		}
	}
}

// trimDeleted takes off what the kernel puts behind the name of an executable
// that was replaced or removed while it runs.
func trimDeleted(link string) string { return strings.TrimSuffix(link, " (deleted)") }
