package proc

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// mostEnvironment is how much of an environment is read.
const mostEnvironment = 64 << 10

// readPrograms reads what runs these processes. A script's comm is its own name, so
// only the link to the executable tells a shell; and what a busybox or a node is,
// only its arguments.
func (r *Reader) readPrograms(s *Snapshot, these []int, w Want) {
	lines := make([]part, len(these))
	for n, i := range these {
		p := &s.all[i]
		if link, err := readLink(p.PID, "exe"); err == nil {
			p.Exe = filepath.Base(trimDeleted(link))
		}
		lines[n] = part{pid: p.PID, file: procPath(p.PID, "cmdline"), size: page}
	}
	for n, text := range r.readWithTimeout(lines) {
		s.all[these[n]].Args = splitText(text)
	}
	r.readEnvironments(s, these, w)
}

// readPlace reads where a process works, and as which user.
func (p *Process) readPlace() {
	around := p.around()
	around.Dir, _ = readLink(p.PID, "cwd")
	b, err := readSmall(procPath(p.PID, "status"))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "Uid:") || strings.HasPrefix(line, "Gid:") {
			around.User += line
		}
	}
}

func (r *Reader) readEnvironments(s *Snapshot, these []int, w Want) {
	if w.Environment == nil {
		return
	}
	var texts []part
	var of []int
	for _, i := range these {
		if p := s.all[i]; w.Environment(p) {
			of, texts = append(of, i), append(texts, part{pid: p.PID, file: procPath(p.PID, "environ"), size: mostEnvironment})
		}
	}
	for n, text := range r.readWithTimeout(texts) {
		s.all[of[n]].around().Env = splitText(text)
	}
}

// SameProgram reports whether a process runs the file that drainit itself runs. known is
// false where that may not be read.
func SameProgram(pid int) (same, known bool) {
	var own, its unix.Stat_t
	err := unix.Stat("/proc/self/exe", &own)
	if err == nil {
		err = asOwner(pid, func() error { return unix.Stat(procPath(pid, "exe"), &its) })
	}
	return err == nil && own.Dev == its.Dev && own.Ino == its.Ino, err == nil
}

// splitText splits what ends each of its parts with a NUL; nil was not read.
func splitText(text []byte) []string {
	if text == nil {
		return nil
	}
	return strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
}

// trimDeleted takes off what the kernel puts behind the name of an executable
// that was replaced or removed while it runs.
func trimDeleted(link string) string { return strings.TrimSuffix(link, " (deleted)") }
