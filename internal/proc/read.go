package proc

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// Read reads the stat of one process with a Reader of its own.
func Read(pid int) (Process, error) { return new(Reader).Read(pid) }

// Read reads the stat of one process. The error is ErrNoProc, ErrNoAnswer or that of open(2) or
// read(2), ENOENT and ESRCH where there is no such process.
func (r *Reader) Read(pid int) (Process, error) {
	g, err := r.beside(func(g *reading) {
		if g.err = checkProc(); g.err == nil {
			g.p, g.err = g.readStat(pid)
		}
	})
	if err != nil {
		return Process{}, err
	}
	return g.p, g.err
}

func (g *reading) readStat(pid int) (Process, error) { return g.readOne(pid, readStat) }

// readOne reads the stat of one process. The error is ErrNoAnswer of one that hangs.
func (g *reading) readOne(pid int, read func(pid int) (Process, error)) (Process, error) {
	if g.hang[pid] == stat || g.careful && isStuck(pid) {
		return Process{}, ErrNoAnswer
	}
	g.reads(pid, stat)
	p, err := read(pid)
	p.hangs = g.hang[pid] == closely
	return p, err
}

func readStat(pid int) (Process, error) {
	b, err := readSmall(procPath(pid, "stat"))
	if err != nil {
		return Process{}, err
	}
	return statOf(b, "")
}

// statOf is what a stat says. A comm that is this one needs no memory of its own.
func statOf(b []byte, comm string) (Process, error) {
	p, err := parseStat(b, comm)
	if p.State == 'Z' && p.count > 1 { // it has threads that have not ended
		p.threads = otherThreads(p.PID)
	}
	return p, err
}

// statReader reads one stat after the other, in a crowd with next to nothing for the
// garbage collector.
type statReader struct {
	dir  int // /proc
	comm string
	path []byte
	buf  [page]byte
}

// read reads the stat of one process.
func (r *statReader) read(pid int) (Process, error) {
	r.path = append(strconv.AppendInt(r.path[:0], int64(pid), 10), "/stat"...)
	fd, err := retry(func() (int, error) { return unix.Openat(r.dir, string(r.path), unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return Process{}, err
	}
	n, err := retry(func() (int, error) { return unix.Read(fd, r.buf[:]) })
	unix.Close(fd)
	if err != nil {
		return Process{}, err
	}
	p, err := statOf(r.buf[:n], r.comm)
	r.comm = p.Comm
	return p, err
}
