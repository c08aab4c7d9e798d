package proc

import (
	"bytes"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Waiting is whether a shell waits for a child that it did not put into the background:
// until that has ended it runs no trap.
type Waiting uint8

// What can be known of it.
const (
	NotWaiting Waiting = iota
	MayWait
	Waits
)

// readForeground asks of each of the shells which children it waits for in the foreground.
func (s *Snapshot) readForeground(w Want) {
	for _, pid := range w.Shells {
		shell, ok := s.Process(pid)
		if !ok || !shell.Alive() || shell.State != 'S' { // as inSigwait asks
			continue
		}
		for _, child := range s.Children(pid) {
			if how := waitsFor(shell, child); how != NotWaiting {
				if s.foreground == nil {
					s.foreground = make(map[[2]int]Waiting)
				}
				s.foreground[[2]int{pid, child.PID}] = how
			}
		}
	}
}

// waitsFor goes by what a shell sleeps in and by what it gave the child for its input.
// dash and busybox's ash sleep in wait4(2) for a child in the foreground, and in
// rt_sigsuspend(2) for the others. bash is in wait4 for both, as mksh is in rt_sigsuspend;
// but one in the background has /dev/null for its input, or leads a process group, or
// ignores INT and QUIT.
func waitsFor(shell, child Process) Waiting {
	exe, _, _ := strings.Cut(shell.Exe, ".")
	call, readable := syscallOf(shell.PID, shell.PID)
	if !readable {
		return NotWaiting
	}
	inWait4 := call.sleeps && call.number == unix.SYS_WAIT4
	switch exe {
	case "dash", "busybox":
		if inWait4 {
			return Waits
		}
		return NotWaiting
	case "":
		return NotWaiting
	case "bash", "rbash":
		if !inWait4 {
			return NotWaiting
		}
	}
	return byInput(shell, child)
}

// byInput compares the input of a child with that of its shell.
func byInput(shell, child Process) Waiting {
	background := input{"/dev/null", unix.O_RDONLY}
	shells, ok := readInput(shell.PID)
	childs, ok2 := readInput(child.PID)
	switch {
	case child.PGID == child.PID && child.PGID != shell.PGID && child.Exe != "timeout", child.Ignores(unix.SIGINT) && child.Ignores(unix.SIGQUIT):
		return NotWaiting
	case !ok || !ok2, childs != shells && childs != background, shells == background:
		return MayWait
	case childs == shells:
		return Waits
	}
	return NotWaiting
}

// input is what descriptor 0 of a process is, and how it was opened.
type input struct {
	file string
	mode int // O_RDONLY, O_WRONLY or O_RDWR
}

func readInput(pid int) (in input, ok bool) {
	var err error
	if in.file, err = readLink(pid, "fd/0"); err != nil {
		return in, false
	}
	b, err := readOwned(pid, "fdinfo/0")
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
