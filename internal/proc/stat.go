package proc

import (
	"bytes"
	"fmt"
	"strconv"

	"drainit/internal/signals"
)

// readStat reads the stat of one process.
func readStat(pid int) (Process, error) {
	b, err := readSmall(procPath(pid, "stat"))
	if err != nil {
		return Process{}, err
	}
	p, err := parseStat(b)
	if p.State == 'Z' && p.count > 1 { // its main thread has ended: the state is that of the others
		others, _ := otherThreads(pid)
		for _, t := range others {
			if p.State != 'T' && t.state != 'Z' && t.state != 'X' {
				p.State = t.state
			}
		}
	}
	return p, err
}

// parseStat reads a line of /proc/PID/stat. The comm may hold blanks and parentheses, so the fields
// after it are counted from the last one.
func parseStat(b []byte) (p Process, err error) {
	const state, sigcatch = 3, 34 // by their numbers in proc(5)
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return p, fmt.Errorf("cannot parse stat: %q", b)
	}
	f := bytes.Fields(b[end+1:])
	if len(f) <= sigcatch-state {
		return p, fmt.Errorf("cannot parse stat: %d fields", len(f)+state-1)
	}
	number := func(text []byte) int64 {
		n, failed := strconv.ParseInt(string(text), 10, 64)
		if failed != nil {
			err = fmt.Errorf("cannot parse stat: %w", failed)
		}
		return n
	}
	field := func(n int) int64 { return number(f[n-state]) }
	p.PID, p.Comm, p.State = int(number(bytes.TrimSpace(b[:open]))), string(b[open+1:end]), f[0][0]
	p.PPID, p.PGID, p.SID = int(field(4)), int(field(5)), int(field(6))
	p.count, p.Start = int32(field(20)), uint64(field(22))
	p.Ignored, p.Handled = signals.Set(field(33)), signals.Set(field(sigcatch))
	return p, err
}
