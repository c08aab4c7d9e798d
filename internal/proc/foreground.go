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
	s.foreground = make(map[[2]int]Waiting)
	for _, pid := range w.Shells {
		shell, ok := s.find(pid)
		if !ok || !shell.Alive() || shell.State != 'S' { // as inSigwait asks
			continue
		}
		how := howWaits(shell)
		if how == NotWaiting {
			continue
		}
		in, known := readInput(pid)
		for _, child := range s.Children(pid) {
			waits := how
			if waits == MayWait {
				waits = byInput(in, known, shell, child)
			}
			if waits != NotWaiting {
				s.foreground[[2]int{pid, child.PID}] = waits
			}
		}
	}
}

// howWaits goes by what a shell sleeps in. dash and busybox's ash sleep in wait4(2) for a
// child in the foreground, and in rt_sigsuspend(2) for the others. bash is in wait4 for
// both, as mksh is in rt_sigsuspend: of these the children tell.
func howWaits(shell *Process) Waiting {
	call, readable := syscallOf(shell.PID, shell.PID)
	inWait4 := call.sleeps && call.number == unix.SYS_WAIT4
	switch exe, _, _ := strings.Cut(shell.Exe, "."); {
	case !readable || exe == "":
		return NotWaiting
	case exe == "dash" || exe == "busybox":
		if inWait4 {
			return Waits
		}
		return NotWaiting
	case (exe == "bash" || exe == "rbash") && !inWait4:
		return NotWaiting
	}
	return MayWait
}

// byInput goes by the input of a child: in the background it is /dev/null, unless the
// shell's own is that, too.
func byInput(shells input, known bool, shell, child *Process) Waiting {
	background := input{"/dev/null", unix.O_RDONLY}
	childs, ok := readInput(child.PID)
	switch {
	case child.InBackgroundOf(shell):
		return NotWaiting
	case !known || !ok, childs != shells && childs != background, shells == background:
		return MayWait
	case childs == shells:
		return Waits
	}
	return NotWaiting
}

// InBackgroundOf reports whether a child can be seen to be in the background of its shell:
// it leads a process group, or ignores INT and QUIT (POSIX, Asynchronous Lists). timeout(1)
// leads one wherever it is.
func (p *Process) InBackgroundOf(shell *Process) bool {
	ownGroup := p.PGID == p.PID && p.PGID != shell.PGID && p.Exe != "timeout"
	return ownGroup || p.Ignores(unix.SIGINT) && p.Ignores(unix.SIGQUIT)
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
