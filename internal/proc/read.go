package proc

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
	p, err := parseStat(b)
	if p.State == 'Z' {
		p.threads = otherThreads(pid)
	}
	return p, err
}
