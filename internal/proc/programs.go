package proc

import (
	"path/filepath"
	"strings"
)

// mostEnvironment is how much of an environment is read.
const mostEnvironment = 64 << 10

// readPrograms reads what runs these processes. A script's comm is its own name, so
// only the link to the executable tells a shell; and what a busybox or a node is,
// only its arguments.
func (g *reading) readPrograms(s *Snapshot, these []int, w Want) {
	for _, i := range these {
		p := &s.all[i]
		if p.hangs {
			continue
		}
		g.reads(p.PID, closely)
		if link, err := readLink(p.PID, "exe"); err == nil {
			p.Exe = filepath.Base(trimDeleted(link))
		}
		p.Args = readTexts(p.PID, "cmdline", page)
		if w.Environment != nil && g.asks(func() bool { return w.Environment(*p) }) {
			p.around().Env = readTexts(p.PID, "environ", mostEnvironment)
		}
	}
}

// readTexts reads what ends each of its parts with a NUL; nil where it can't be read.
func readTexts(pid int, name string, most int) []string {
	text, err := readPart(pid, name, 0, most)
	if err != nil {
		return nil
	}
	return splitText(text)
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

// SameProgram reports whether a process runs the file that drainit itself runs. known is
// false where that may not be read.
func SameProgram(pid int) (same, known bool) {
	g, err := new(Reader).beside(func(g *reading) {
		var own, its fileID
		g.reads(pid, closely)
		if _, own, g.err = statFile("/proc/self/exe"); g.err == nil {
			g.err = asOwner(pid, func() (err error) {
				_, its, err = statFile(procPath(pid, "exe"))
				return err
			})
		}
		g.yes = own == its
	})
	known = err == nil && g.err == nil
	return known && g.yes, known
}

// splitText splits what ends each of its parts with a NUL.
func splitText(text []byte) []string {
	return strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
}

// trimDeleted takes off what the kernel puts behind the name of an executable
// that was replaced or removed while it runs.
func trimDeleted(link string) string { return strings.TrimSuffix(link, " (deleted)") }
