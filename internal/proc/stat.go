package proc

import (
	"bytes"
	"fmt"
	"math"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// statSignals are the signals of which /proc/PID/stat has the masks.
const statSignals = unix.Signal(31)

// parseStat reads a line of /proc/PID/stat. The comm may hold blanks and
// parentheses, so the fields behind it are counted from the last one. One that is the given
// one, as that of many processes is, is not made anew.
func parseStat(b []byte, comm string) (Process, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return Process{}, fmt.Errorf("cannot parse stat: %q", b)
	}
	p := Process{Comm: comm}
	if text := b[open+1 : end]; string(text) != comm {
		p.Comm = string(text)
	}
	pid, err := parseNumber(bytes.TrimSpace(b[:open]))
	if err != nil {
		return Process{}, fmt.Errorf("cannot parse stat: %w", err)
	}
	p.PID = int(pid)
	const state, starttime = 3, 22
	field := state
	for rest := b[end+1:]; ; field++ {
		var text []byte
		if text, rest = cutField(rest); len(text) == 0 {
			break
		}
		if err := p.parseField(field, text); err != nil {
			return Process{}, fmt.Errorf("cannot parse stat: %w", err)
		}
	}
	if field <= starttime {
		return Process{}, fmt.Errorf("cannot parse stat: %d fields", field-1)
	}
	return p, nil
}

// cutField returns the first field, empty where there is none, and what is behind it.
func cutField(b []byte) (field, rest []byte) {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\n') {
		b = b[1:]
	}
	for i, c := range b {
		if c == ' ' || c == '\n' {
			return b[:i], b[i:]
		}
	}
	return b, nil
}

// parseField reads one field of a stat, by its number in proc(5).
func (p *Process) parseField(number int, text []byte) (err error) {
	var n uint64
	switch number {
	case 3:
		p.State = text[0]
	case 4, 5, 6, 20, 22, 33, 34, 52:
		n, err = parseNumber(text)
	}
	switch number {
	case 4:
		p.PPID = int(n)
	case 5:
		p.PGID = int(n)
	case 6:
		p.SID = int(n)
	case 20:
		p.count = int32(n)
	case 22:
		p.Start = n
	case 33:
		p.Ignored = signals.Set(n)
	case 34:
		p.Handled = signals.Set(n)
	case 52:
		p.Status = unix.WaitStatus(n)
	}
	return err
}

// parseNumber reads a number as the kernel writes it, one below 0 as int(n) has it: the
// process group of a process that is about to be no more is -1.
func parseNumber(text []byte) (n uint64, err error) {
	digits := bytes.TrimPrefix(text, []byte("-"))
	for _, digit := range digits {
		if digit < '0' || digit > '9' || n > math.MaxUint64/10-1 {
			return 0, fmt.Errorf("%q is no number", text)
		}
		n = n*10 + uint64(digit-'0')
	}
	if len(digits) == 0 {
		return 0, fmt.Errorf("%q is no number", text)
	}
	if len(digits) < len(text) {
		n = -n
	}
	return n, nil
}
