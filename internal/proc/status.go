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
	traced  bool // by a debugger, which decides what becomes of a signal
	nested  bool // it is the first process of a PID namespace below that of /proc
	// Of the one thread: whether it is in state S, R or D, and how often it has been switched
	// out, because it slept or because another had its turn. Neither number ever falls,
	// so their sum shows a change of either.
	asleep   bool
	runs     bool
	stuck    bool // in state D
	switches uint64
	sleeps   uint64 // the former of the two alone
}

// rests reports whether the one thread sleeps, with no signal pending.
func (s status) rests() bool { return s.asleep && s.pending == 0 }

func readStatus(pid int) (status, error) { return readStatusAt(procPath(pid, "status")) }

// isStuck reports whether a process sleeps so that nothing wakes it up, as those do that wait
// for a file system.
func isStuck(pid int) bool {
	st, err := readStatus(pid)
	return err == nil && st.stuck
}

// readHanging reads, of a process whose stat hangs, where it stands in the tree. It is dead, for
// nothing else is known of it, not even which process it is.
func readHanging(pid int) (p Process, err error) {
	b, err := readSmall(procPath(pid, "status"))
	if err != nil {
		return p, err
	}
	p = Process{ID: ID{PID: pid}, State: 'X', hangs: true}
	for line := range bytes.Lines(b) {
		switch name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(":\t")); string(name) {
		case "Name":
			p.Comm = string(value)
		case "PPid":
			p.PPID, err = strconv.Atoi(string(value))
		}
	}
	return p, err
}

func readThread(pid, tid int) (status, error) {
	return readStatusAt(procPath(pid, threadFile(pid, tid, "status")))
}

func readStatusAt(path string) (status, error) {
	b, err := readSmall(path)
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
		state := func(letter string) bool { return bytes.HasPrefix(value, []byte(letter)) }
		s.asleep, s.runs, s.stuck = state("S"), state("R"), state("D")
	case "Threads":
		s.threads, err = strconv.Atoi(string(value))
	case "TracerPid":
		s.traced = string(value) != "0"
	case "NSpid":
		ids := bytes.Fields(value)
		s.nested = len(ids) > 1 && string(ids[len(ids)-1]) == "1"
	case "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches":
		n, failed := strconv.ParseUint(string(value), 10, 64)
		s.switches, err = s.switches+n, failed
		if name[0] == 'v' {
			s.sleeps = n
		}
	case "SigPnd", "ShdPnd":
		pending, failed := signals.ParseSet(value)
		s.pending, err = s.pending|pending, failed
	case "SigBlk":
		s.blocked, err = signals.ParseSet(value)
		return true, err
	case "SigIgn":
		s.ignored, err = signals.ParseSet(value)
		return true, err
	case "SigCgt":
		s.handled, err = signals.ParseSet(value)
		return true, err
	}
	return false, err
}
