package proc

import (
	"bytes"
	"fmt"
	"strconv"

	"drainit/internal/signals"
)

// status is what /proc/PID/status, or that of a thread, says of signals.
type status struct {
	handled signals.Set // SigCgt
	ignored signals.Set // SigIgn
	blocked signals.Set // SigBlk, of the one thread
	pending signals.Set // ShdPnd, and SigPnd of the one thread
	threads int
	// Of the one thread: whether it is in state S, and how often it has gone to sleep.
	asleep   bool
	switches string
}

func readStatus(pid int) (status, error) {
	b, err := readSmall(procPath(pid, "status"))
	if err != nil {
		return status{}, err
	}
	return parseStatus(b)
}

// parseStatus reads the masks in a /proc/PID/status, and what goes with them.
func parseStatus(b []byte) (s status, err error) {
	masks := 0
	for line := range bytes.Lines(b) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		isMask, err := s.parseLine(string(name), bytes.TrimSpace(value))
		if err != nil {
			return s, fmt.Errorf("cannot parse status: %w", err)
		}
		if isMask {
			masks++
		}
	}
	if masks != 3 {
		return s, fmt.Errorf("cannot parse status: %d of 3 signal masks", masks)
	}
	return s, nil
}

// parseLine reads one line, and reports whether it is a mask that must be there.
func (s *status) parseLine(name string, value []byte) (isMask bool, err error) {
	switch name {
	case "State":
		s.asleep = bytes.HasPrefix(value, []byte("S"))
	case "Threads":
		s.threads, err = strconv.Atoi(string(value))
	case "voluntary_ctxt_switches":
		s.switches = string(value)
	case "SigPnd", "ShdPnd":
		pending, failed := signals.ParseSet(value, 16)
		s.pending, err = s.pending|pending, failed
	case "SigBlk":
		s.blocked, err = signals.ParseSet(value, 16)
		return true, err
	case "SigIgn":
		s.ignored, err = signals.ParseSet(value, 16)
		return true, err
	case "SigCgt":
		s.handled, err = signals.ParseSet(value, 16)
		return true, err
	}
	return false, err
}
