package proc

import (
	"bytes"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// statSignals are the signals of which /proc/PID/stat has the masks.
const statSignals = unix.Signal(31)

// parseStat reads a line of /proc/PID/stat. The comm may hold blanks and
// parentheses, so the fields behind it are counted from the last one.
func parseStat(b []byte) (Process, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return Process{}, fmt.Errorf("cannot parse stat: %q", b)
	}
	p := Process{Comm: string(b[open+1 : end])}
	var err error
	if p.PID, err = strconv.Atoi(string(bytes.TrimSpace(b[:open]))); err != nil {
		return Process{}, fmt.Errorf("cannot parse stat: %w", err)
	}
	const state, starttime = 3, 22
	field := state
	for text := range bytes.FieldsSeq(b[end+1:]) {
		if err := p.parseField(field, text); err != nil {
			return Process{}, fmt.Errorf("cannot parse stat: %w", err)
		}
		field++
	}
	if field <= starttime {
		return Process{}, fmt.Errorf("cannot parse stat: %d fields", field-1)
	}
	return p, nil
}

// parseField reads one field of a stat, by its number in proc(5).
func (p *Process) parseField(number int, text []byte) (err error) {
	switch number {
	case 3:
		p.State = text[0]
	case 4:
		p.PPID, err = strconv.Atoi(string(text))
	case 5:
		p.PGID, err = strconv.Atoi(string(text))
	case 6:
		p.SID, err = strconv.Atoi(string(text))
	case 22:
		p.Start, err = strconv.ParseUint(string(text), 10, 64)
	case 33:
		p.Ignored, err = signals.ParseSet(text, 10)
	case 34:
		p.Handled, err = signals.ParseSet(text, 10)
	case 52:
		var status uint64
		status, err = strconv.ParseUint(string(text), 10, 32)
		p.Status = unix.WaitStatus(status)
	}
	return err
}
