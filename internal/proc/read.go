package proc

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Read reads the stat of one process. The error is ErrNoProc or that of open(2) or
// read(2), ENOENT and ESRCH where there is no such process.
func Read(pid int) (Process, error) {
	if err := checkProc(); err != nil {
		return Process{}, err
	}
	return readStat(pid)
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

// LastPID is the last pid that was given to a process or thread of drainit's PID namespace: as
// long as it is, no process has come. It is 0 where that can't be known: it takes a kernel with
// CONFIG_CHECKPOINT_RESTORE.
func LastPID() int {
	b, err := readSmall("/proc/sys/kernel/ns_last_pid")
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return pid
}
