package proc

import (
	"bytes"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

func (g *reading) readStat(pid int) (Process, error) {
	return g.readOne(pid, readStat)
}

func readStat(pid int) (Process, error) {
	b, err := readSmall(procPath(pid, "stat"))
	if err != nil {
		return Process{}, err
	}
	return statOf(b, "")
}

// readOne reads the stat of one process. The error is ErrNoAnswer of one that hangs.
func (g *reading) readOne(pid int, read func(pid int) (Process, error)) (Process, error) {
	if g.careful {
		if st, err := readStatus(pid); err == nil && st.state == 'D' {
			return Process{}, ErrNoAnswer
		}
	}
	if g.hang[pid] == stat {
		return Process{}, ErrNoAnswer
	}
	g.reads(pid, stat)
	p, err := read(pid)
	p.hangs = g.hang[pid] == closely
	return p, err
}

// statOf is what a stat says. A comm that is this one needs no memory of its own.
func statOf(b []byte, comm string) (Process, error) {
	p, err := parseStat(b, comm)
	if p.State == 'Z' && p.count > 1 { // it has threads that have not ended
		others, _ := otherThreads(p.PID)
		for _, t := range others {
			p.othersLive = p.othersLive || t.state != 'Z' && t.state != 'X'
			p.othersStopped = p.othersStopped || t.state == 'T'
		}
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

// parseStat reads a line of /proc/PID/stat. The comm may hold blanks and parentheses, so the fields
// after it are counted from the last one. A comm that is the given one is not made anew.
func parseStat(b []byte, comm string) (p Process, err error) {
	const state, starttime = 3, 22 // by their numbers in proc(5)
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return p, fmt.Errorf("cannot parse stat: %q", b)
	}
	f := bytes.Fields(b[end+1:])
	if len(f) <= starttime-state {
		return p, fmt.Errorf("cannot parse stat: %d fields", len(f)+state-1)
	}
	number := func(text []byte) int64 {
		n, failed := strconv.ParseInt(string(text), 10, 64)
		if failed != nil && err == nil {
			err = fmt.Errorf("cannot parse stat: %w", failed)
		}
		return n
	}
	field := func(n int) int64 {
		if n-state >= len(f) {
			return 0 // an older kernel
		}
		return number(f[n-state])
	}
	if p.Comm = comm; string(b[open+1:end]) != comm {
		p.Comm = string(b[open+1 : end])
	}
	p.PID, p.State = int(number(bytes.TrimSpace(b[:open]))), f[0][0]
	p.PPID, p.PGID, p.SID = int(field(4)), int(field(5)), int(field(6))
	p.count, p.Start = int32(field(20)), uint64(field(starttime))
	p.Ignored, p.Handled = signals.Set(field(33)), signals.Set(field(34))
	p.Status = unix.WaitStatus(field(52))
	return p, err
}
