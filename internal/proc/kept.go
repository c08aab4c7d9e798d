package proc

import "golang.org/x/sys/unix"

// keptStat is the stat of one process, kept open: to read it again takes a third of the time
// that it takes to open it, too, and it can't be another's that has the pid now.
type keptStat struct {
	pid int // 0: none is open
	fd  int
	buf [page]byte
}

// keep opens the stat of a process, in place of the one before.
func (k *keptStat) keep(pid int) {
	k.letGo()
	if fd, err := openProc(procPath(pid, "stat"), 0); err == nil {
		k.pid, k.fd = pid, fd
	}
}

func (k *keptStat) letGo() {
	if k.pid != 0 {
		unix.Close(k.fd)
		k.pid = 0
	}
}

// read reads it again. ok is false where it is not that of the pid, or can't be read any
// longer.
func (k *keptStat) read(pid int) (p Process, ok bool) {
	if pid == 0 || pid != k.pid {
		return p, false
	}
	n, err := retry(func() (int, error) { return unix.Pread(k.fd, k.buf[:], 0) })
	if err == nil {
		p, err = statOf(k.buf[:n], "")
	}
	if err != nil {
		k.letGo()
	}
	return p, err == nil
}
