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
	nested  bool // it is the first process of a PID namespace below that of /proc
	// Of the one thread, as its stat has the state; and how often it has been switched out, because it
	// slept or because another had its turn. Neither number ever falls, so their sum shows a change
	// of either.
	tid      int
	state    byte
	switches uint64
}

// rests reports whether the one thread sleeps, with no signal pending.
func (s status) rests() bool { return s.state == 'S' && s.pending == 0 }

func readStatus(pid int) (status, error) { return readThread(pid, pid) }

// readThread reads the status of one thread of a process.
func readThread(pid, tid int) (s status, err error) {
	b, err := readSmall(procPath(pid, threadFile(pid, tid, "status")))
	if err == nil {
		s, err = parseStatus(b)
	}
	s.tid = tid
	return s, err
}

// otherThreads reads the statuses of the threads beside the main one. whole is false if one has ended
// meanwhile, or they can't be read.
func otherThreads(pid int) (all []status, whole bool) {
	tids, err := readPids(procPath(pid, "task"))
	whole = err == nil
	for _, tid := range tids {
		if tid == pid {
			continue
		}
		if s, err := readThread(pid, tid); err == nil {
			all = append(all, s)
		} else {
			whole = false
		}
	}
	return all, whole
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
		if len(value) > 0 {
			s.state = value[0]
		}
	case "Threads":
		s.threads, err = strconv.Atoi(string(value))
	case "NSpid":
		ids := bytes.Fields(value)
		s.nested = len(ids) > 1 && string(ids[len(ids)-1]) == "1"
	case "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches":
		n, failed := strconv.ParseUint(string(value), 10, 64)
		s.switches, err = s.switches+n, failed
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
