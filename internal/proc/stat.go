package proc

import (
	"bytes"
	"cmp"
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
	p.PID = pid
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

// parseStat parses a line of /proc/PID/stat, except for the pid. The comm may hold blanks and parentheses, so
// the fields after it are counted from the last parenthesis.
func parseStat(b []byte) (p Process, err error) {
	const comm, sigcatch = 2, 34 // by their numbers in proc(5)
	open, end, n := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')'), comm
	var fields [sigcatch + 1][]byte // bytes.Fields would allocate them, for each of thousands
	for f := range bytes.FieldsSeq(b[end+1:]) {
		if n++; n > sigcatch {
			break
		}
		fields[n] = f
	}
	if open < 0 || end < open || n < sigcatch {
		return p, fmt.Errorf("cannot parse stat: %q", b)
	}
	field := func(n int) int64 {
		v, failed := strconv.ParseInt(string(fields[n]), 10, 64)
		err = cmp.Or(err, failed)
		return v
	}
	p.Comm, p.State = string(b[open+1:end]), fields[3][0]
	p.PPID, p.PGID, p.SID = int(field(4)), int(field(5)), int(field(6))
	p.count, p.Start, p.stackBase = int32(field(20)), uint64(field(22)), uint64(field(28))
	p.Ignored, p.Handled = signals.Set(field(33)), signals.Set(field(sigcatch))
	p.Call = Call{Sleeps: p.State == 'S', Number: -1}
	return p, err
}

// status is what /proc/PID/status, or that of a thread, says of signals.
type status struct {
	handled signals.Set // SigCgt
	ignored signals.Set // SigIgn
	blocked signals.Set // SigBlk, of the one thread
	pending signals.Set // ShdPnd, and SigPnd of the one thread
	threads int
	nested  bool // it is the first process of a PID namespace below that of /proc

	certain  bool // all of it was there
	tid      int  // tid, state and switches are those of the one thread
	state    byte
	switches uint64 // how often it has been switched out: to sleep, or for another's turn
}

// rests reports whether the one thread certainly sleeps, with no signal pending.
func (s status) rests() bool { return s.sleeps() && s.pending == 0 }

// sleeps reports whether the one thread certainly sleeps. A signal that it blocks may be pending: a bash in
// the builtin wait blocks CHLD.
func (s status) sleeps() bool { return s.certain && s.state == 'S' && s.pending&^s.blocked == 0 }

// statusOf reads the status of a thread. The thread of a process whose number is its pid is its main one.
// If an error is returned, too, the status may lack something.
func statusOf(tid int) (status, error) {
	b, err := readSmall(procPath(tid, "status"))
	s := parseStatus(b)
	s.tid = tid
	return s, err
}

// otherThreads reads the statuses of the threads beside the main one. whole is false if a thread has ended
// meanwhile, or if they can't be read.
func otherThreads(pid int) (all []status, whole bool) {
	tids, err := readPids(procPath(pid, "task"))
	whole = err == nil
	for _, tid := range tids {
		if tid == pid {
			continue
		}
		s, err := statusOf(tid)
		whole = whole && err == nil
		if err == nil {
			all = append(all, s)
		}
	}
	return all, whole
}

// readHanging reads the name and the parent of a process whose stat hangs.
func readHanging(pid int) (p Process, err error) {
	b, err := readSmall(procPath(pid, "status"))
	if err != nil {
		return p, err
	}
	name, rest := valueOf(b, "Name")
	parent, _ := valueOf(rest, "PPid")
	ppid, err := strconv.Atoi(string(parent))
	return Process{ID: ID{PID: pid}, PPID: ppid, Comm: string(name), State: 'D', unread: true}, err
}

// parseStatus parses the signal masks of a /proc/PID/status and what goes with them. It takes the lines in
// their order. If a line is missing, as in gVisor, or makes no sense, the process counts as one that may
// handle the signals.
func parseStatus(b []byte) (s status) {
	state, b := valueOf(b, "State")
	pids, _ := valueOf(b, "NSpid") // which not every kernel shows
	s.nested = bytes.HasSuffix(pids, []byte("\t1"))
	if len(state) > 0 {
		s.state = state[0]
	}
	number := func(name string, base int) (n uint64) {
		var value []byte
		value, b = valueOf(b, name)
		n, err := strconv.ParseUint(string(value), base, 64)
		s.certain = s.certain && err == nil
		return n
	}
	mask := func(name string) signals.Set { return signals.Set(number(name, 16)) }
	s.certain = true
	s.threads = int(number("Threads", 10))
	s.pending = mask("SigPnd") | mask("ShdPnd")
	s.blocked, s.ignored, s.handled = mask("SigBlk"), mask("SigIgn"), mask("SigCgt")
	if !s.certain {
		s.pending, s.blocked, s.ignored, s.handled = 0, 0, 0, mayHandle
	}
	s.switches = number("voluntary_ctxt_switches", 10) + number("nonvoluntary_ctxt_switches", 10)
	return s
}

// valueOf finds the line of a status or an fdinfo that begins with name. It returns the value in that line
// and the text after the value, both nil if there is no such line. A line feed in the name of a process is
// shown as \n.
func valueOf(b []byte, name string) (value, rest []byte) {
	name += ":\t"
	if !bytes.HasPrefix(b, []byte(name)) {
		name = "\n" + name
	}
	_, rest, _ = bytes.Cut(b, []byte(name))
	value, _, _ = bytes.Cut(rest, []byte("\n"))
	return value, rest[len(value):]
}
