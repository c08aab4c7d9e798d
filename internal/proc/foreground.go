package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// readForeground asks of each of the shells which children it waits for in the foreground.
func (s *Snapshot) readForeground(w Want) {
	for _, pid := range w.Shells {
		shell, ok := s.Process(pid)
		if !ok || !shell.Alive() {
			continue
		}
		for _, child := range s.Children(pid) {
			if waitsInForeground(shell, child.PID) {
				if s.foreground == nil {
					s.foreground = make(map[[2]int]bool)
				}
				s.foreground[[2]int{pid, child.PID}] = true
			}
		}
	}
}

// waitsInForeground reports whether a shell surely waits for a child that it did
// not put into the background. dash and busybox's ash sleep in wait4(2) for such a
// one, and in rt_sigsuspend(2) for the others. bash is in wait4 for both; but one in
// the background has /dev/null for its input, and the other the shell's own.
func waitsInForeground(shell Process, child int) bool {
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
		shells, ok := readInput(shell.PID)
		childs, ok2 := readInput(child)
		return ok && ok2 && shells == childs && shells != input{"/dev/null", unix.O_RDONLY}
	}
	return false
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
