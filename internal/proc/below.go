package proc

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// Seen is what one look shows of a living process.
type Seen struct {
	Process
	Caught  signals.Set // those it has a handler for or, if asked, waits for
	Ignored signals.Set // at least of the first 31
	Exe     string      // the file name of what runs it, "" where that may not be read
	Args    []string    // its command line as it shows it, the first page at most
}

// Catches reports whether the process caught a signal, which must be one of those
// asked for if the process may wait for it without a handler.
func (s Seen) Catches(sig unix.Signal) bool { return s.Caught.Has(sig) }

// Ignores reports whether the process ignored a signal.
func (s Seen) Ignores(sig unix.Signal) bool { return s.Ignored.Has(sig) }

// ReadBelow looks at every process below root, parents before their children,
// and at which signals each catches. What a program is (Exe and Args), and which of
// these signals it waits for without a handler, is read of root's children and of
// those that have children: nobody asks it of the others. Processes that vanish under
// the look are left out, and so is what /proc hides; the error is ReadTree's. To look at
// one process that seems to wait for a signal takes a millisecond, and all of them
// together not longer than until. Once one is stuck in the kernel, which costs half a
// second, there are no arguments, of it and of those behind it, until it is not any more.
func ReadBelow(root int, until time.Time, sigs ...unix.Signal) ([]Seen, error) {
	t, err := ReadTree()
	if err != nil {
		return nil, err
	}
	below := t.Below(root)
	all := make([]Seen, 0, len(below))
	var closely []*Seen
	for _, p := range below {
		close := p.PPID == root || len(t.children[p.PID]) > 0
		s, err := readSeen(p, until, sigs, close)
		if outOfMeans(err) {
			return nil, err
		} else if err != nil {
			continue
		}
		all = append(all, s)
		if close {
			closely = append(closely, &all[len(all)-1])
		}
	}
	readPrograms(closely)
	return all, nil
}

// ReadSeen looks at one process, as ReadBelow does at each.
func ReadSeen(pid int, until time.Time, sigs ...unix.Signal) (Seen, error) {
	p, err := ReadProcess(pid)
	if err != nil {
		return Seen{}, err
	}
	s, err := readSeen(p, until, sigs, true)
	if err != nil {
		return s, err
	}
	readPrograms([]*Seen{&s})
	return s, nil
}

func readSeen(p Process, until time.Time, sigs []unix.Signal, closely bool) (Seen, error) {
	s := Seen{Process: p, Caught: p.caught, Ignored: p.ignored}
	if !closely && slices.Max(append(sigs, 0)) <= statSignals {
		return s, nil // a status costs as much again as the stat
	}
	h, err := readHandlers(p.PID)
	if err != nil {
		return s, err
	}
	s.Caught, s.Ignored = h.caught, h.ignored
	if !closely {
		return s, nil
	}
	for _, sig := range sigs {
		caught, err := h.catches(p.PID, sig, until)
		if err != nil {
			return s, err
		}
		if caught {
			s.Caught |= signals.SetOf(sig)
		}
	}
	return s, nil
}

// readPrograms reads what runs these processes. A script's comm is its own name, so
// only the link to the executable tells a shell; and what a busybox or a node is,
// only its arguments.
func readPrograms(seen []*Seen) {
	lines := make([]part, len(seen))
	for i, s := range seen {
		if link, err := os.Readlink(procPath(s.PID, "exe")); err == nil {
			s.Exe = filepath.Base(trimDeleted(link))
		}
		lines[i].file = procPath(s.PID, "cmdline")
	}
	for i, page := range readAside(lines) {
		if page == nil {
			continue
		}
		for arg := range bytes.SplitSeq(bytes.TrimRight(page, "\x00"), []byte{0}) {
			seen[i].Args = append(seen[i].Args, string(arg))
		}
	}
}

// trimDeleted takes off what the kernel puts behind the name of an executable
// that was replaced or removed while it runs.
func trimDeleted(link string) string {
	const mark = " (deleted)"
	if n := len(link) - len(mark); n > 0 && link[n:] == mark {
		return link[:n]
	}
	return link
}

// Ticks is now in the unit of ID.Start, 0 if the clock can't be read.
func Ticks() uint64 { return uint64(sinceBoot() / tick) }

func sinceBoot() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return time.Duration(now.Nano())
}

// outOfMeans says that a look failed by a want of descriptors or memory. What it
// would show has holes.
func outOfMeans(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM)
}

// WaitsInForeground reports whether a shell surely waits for a child that it did
// not put into the background. dash and busybox's ash sleep in wait4(2) for such a
// one, and in rt_sigsuspend(2) for the others. bash is in wait4 for both; but one in
// the background has /dev/null for its input, and the other the shell's own.
func WaitsInForeground(shell Seen, child int) bool {
	if shell.State != 'S' { // as inSigwait asks
		return false
	}
	if n, _, ok := syscallOf(procPath(shell.PID, "")); !ok || n != unix.SYS_WAIT4 {
		return false
	}
	switch exe, _, _ := strings.Cut(shell.Exe, "."); exe {
	case "dash", "busybox":
		return true
	case "bash":
		own, ok := readInput(shell.PID)
		his, ok2 := readInput(child)
		return ok && ok2 && own == his && own != input{"/dev/null", unix.O_RDONLY}
	}
	return false
}

// ReadsFrom returns which of the others write to the pipe that a process reads as
// its standard input.
func ReadsFrom(pid int, others []Seen) []Seen {
	in := pipeAt(pid, 0)
	if in == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(others), func(p Seen) bool {
		return p.PID == pid || pipeAt(p.PID, 1) != in && pipeAt(p.PID, 2) != in
	})
}

// pipeAt is the name of the pipe behind a descriptor, "" if there is none.
func pipeAt(pid, fd int) string {
	link, err := os.Readlink(procPath(pid, "fd/"+strconv.Itoa(fd)))
	if err != nil || !strings.HasPrefix(link, "pipe:") {
		return ""
	}
	return link
}

// input is what descriptor 0 of a process is, and how it was opened.
type input struct {
	file string
	mode int // O_RDONLY, O_WRONLY or O_RDWR
}

func readInput(pid int) (in input, ok bool) {
	var err error
	if in.file, err = os.Readlink(procPath(pid, "fd/0")); err != nil {
		return in, false
	}
	b, err := readSmall(procPath(pid, "fdinfo/0"))
	if err != nil {
		return in, false
	}
	for line := range bytes.Lines(b) {
		if flags, ok := bytes.CutPrefix(line, []byte("flags:")); ok {
			n, err := strconv.ParseUint(string(bytes.TrimSpace(flags)), 8, 32)
			in.mode = int(n) & unix.O_ACCMODE
			return in, err == nil
		}
	}
	return in, false
}
