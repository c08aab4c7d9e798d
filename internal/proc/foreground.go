package proc

import (
	"strings"

	"golang.org/x/sys/unix"
)

// Waiting is whether a shell waits for a command in its foreground: until that has ended it
// runs no trap.
type Waiting uint8

// What can be known of it.
const (
	NotWaiting Waiting = iota
	MayWait            // in the foreground, or in the builtin wait, which a trap interrupts
	Waits
)

// readForeground asks of each of the shells whether it waits in the foreground.
func (g *reading) readForeground(s *Snapshot, w Want) {
	s.foreground, s.stacks = make(map[int]Waiting), make(map[int]uint64)
	for _, pid := range w.Shells {
		shell, ok := s.find(pid)
		if ok && shell.Alive() && shell.State == 'S' && !shell.hangs { // as inSigwait asks
			g.reads(pid, closely)
			call, readable := syscallOf(pid, pid)
			s.foreground[pid], s.stacks[pid] = waitsBy(shell, call, readable), call.stack
		}
	}
}

// howWaits goes by what a shell sleeps in. dash and busybox's ash sleep in wait4(2) for a
// child in the foreground, and in rt_sigsuspend(2) for the others. bash is in wait4 for
// both, as mksh is in rt_sigsuspend.
func howWaits(shell *Process) Waiting {
	call, readable := syscallOf(shell.PID, shell.PID)
	return waitsBy(shell, call, readable)
}

func waitsBy(shell *Process, call sysCall, readable bool) Waiting {
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

// readStacks reads where the stacks of some shells are.
func (g *reading) readStacks(s *Snapshot, shells []int) {
	s.stacks = make(map[int]uint64)
	for _, pid := range shells {
		if g.hang[pid] == nothing {
			g.reads(pid, closely)
			call, _ := syscallOf(pid, pid)
			s.stacks[pid] = call.stack
		}
	}
}
