// Package proc reads /proc: which processes there are, which of them is below which,
// and which signals each handles.
//
// It owns the only reads of /proc and what their errors mean. It must never send a
// signal, wait for a child or write a line, and never wait for long: what can hang is
// read on another thread.
package proc

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// ErrNoProc says that /proc can't be used: it is not mounted, or it belongs to
// another PID namespace, where every pid in it would mean another process.
var ErrNoProc = errors.New("/proc is not mounted or not of this PID namespace")

// ID names one process for good. A pid alone does not: it is recycled.
type ID struct {
	PID   int
	Start uint64 // field 22 of /proc/PID/stat, in clock ticks (1/100 s) after boot
}

// Process is what /proc/PID/stat says of a process at one moment (proc(5)).
type Process struct {
	ID
	PPID  int
	PGID  int
	SID   int
	State byte   // R, S, D, T (stopped), t (traced), Z, X…
	Comm  string // at most 15 bytes of anything, set by the process itself

	ignored, caught signals.Set // of the first 31 signals
}

// statSignals are the signals of which /proc/PID/stat has the masks.
const statSignals = 31

// Alive reports whether the process can still run. A leader in state Z whose
// other threads live is alive: it has not been handed to wait4.
func (p Process) Alive() bool {
	if p.State == 'X' || p.State == 'x' {
		return false
	}
	return p.State != 'Z' || hasLivingThread(p.PID)
}

// Stopped reports whether the process sleeps by a stop signal, so that it sees
// no other signal but CONT and KILL. One held by a debugger is not counted.
func (p Process) Stopped() bool { return p.State == 'T' }

// HasHandler reports whether the process had a handler for one of the first 31
// signals. Where it is false, Catches may still be true.
func (p Process) HasHandler(sig unix.Signal) bool { return p.caught.Has(sig) }

// tick is the unit of ID.Start, on every architecture (USER_HZ).
const tick = 10 * time.Millisecond

// Age is how long ago the process started, 0 if the clock can't be read.
func (p Process) Age() time.Duration {
	return max(0, sinceBoot()-time.Duration(p.Start)*tick)
}

// Tree is a set of processes and who is whose child.
type Tree struct {
	byPID    map[int]Process
	children map[int][]Process
}

// NewTree makes a tree of processes, each of which has a pid of its own.
func NewTree(all []Process) Tree {
	t := Tree{byPID: make(map[int]Process, len(all)), children: make(map[int][]Process)}
	slices.SortFunc(all, byPID)
	for _, p := range all {
		t.byPID[p.PID] = p
		t.children[p.PPID] = append(t.children[p.PPID], p)
	}
	return t
}

// ReadTree reads every process that /proc shows now. Those that vanish under
// the reading, or are hidden (hidepid), are left out. The error is ErrNoProc, or
// why /proc can't be read, which may be for the moment only.
func ReadTree() (Tree, error) {
	if err := checkProc(); err != nil {
		return Tree{}, err
	}
	pids, err := readPids("/proc")
	if err != nil {
		return Tree{}, err
	}
	all := make([]Process, 0, len(pids))
	for _, pid := range pids {
		p, err := readProcess(pid)
		switch {
		case err == nil:
			all = append(all, p)
		case outOfMeans(err):
			return Tree{}, err // a tree with holes would pass for the whole
		}
	}
	return NewTree(all), nil
}

// All returns the living processes, by pid.
func (t Tree) All() []Process {
	all := slices.SortedFunc(maps.Values(t.byPID), byPID)
	return living(all)
}

// Process returns the process with this pid.
func (t Tree) Process(pid int) (p Process, ok bool) {
	p, ok = t.byPID[pid]
	return p, ok
}

// Children returns the living children of pid, by pid.
func (t Tree) Children(pid int) []Process {
	return living(t.children[pid])
}

// Group returns the living processes of a process group, by pid.
func (t Tree) Group(pgid int) []Process {
	var members []Process
	for _, siblings := range t.children {
		for _, p := range siblings {
			if p.PGID == pgid {
				members = append(members, p)
			}
		}
	}
	slices.SortFunc(members, byPID)
	return living(members)
}

// Below returns the living processes below root, which is not among them,
// parents before their children.
func (t Tree) Below(root int) []Process {
	seen := map[int]bool{root: true} // /proc is no snapshot: a recycled pid could close a ring
	queue := []int{root}
	var all []Process
	for len(queue) > 0 {
		for _, p := range t.children[queue[0]] {
			if !seen[p.PID] {
				seen[p.PID] = true
				queue = append(queue, p.PID)
				all = append(all, p)
			}
		}
		queue = queue[1:]
	}
	return living(all)
}

func byPID(a, b Process) int { return a.PID - b.PID }

func living(all []Process) []Process {
	return slices.DeleteFunc(slices.Clone(all), func(p Process) bool { return !p.Alive() })
}

// ReadProcess reads one process. The error is ErrNoProc or that of open(2) or
// read(2), ENOENT and ESRCH where there is no such process.
func ReadProcess(pid int) (Process, error) {
	if err := checkProc(); err != nil {
		return Process{}, err
	}
	return readProcess(pid)
}

func readProcess(pid int) (Process, error) {
	b, err := readSmall(procPath(pid, "stat"))
	if err != nil {
		return Process{}, err
	}
	return parseStat(b)
}

// Vanished reports whether a read of /proc failed because the process has ended.
func Vanished(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH)
}

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
		p.ignored, err = signals.ParseSet(text, 10)
	case 34:
		p.caught, err = signals.ParseSet(text, 10)
	}
	return err
}

// hasLivingThread looks at the threads of a leader in state Z.
func hasLivingThread(pid int) bool {
	lives, _ := anyOtherThread(procPath(pid, "task"), pid, func(state byte) bool { return state != 'Z' && state != 'X' })
	return lives
}
