package program

import (
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// Waiting is whether a shell waits for a command in its foreground: until that has ended it
// runs no trap.
type Waiting uint8

// What can be known of that.
const (
	NotWaiting Waiting = iota
	MayWait            // in the foreground, or in the builtin wait, which a trap interrupts
	Waits
)

// WaitingOf tells by what a shell sleeps in whether it waits for a command. dash and busybox's ash
// sleep in wait4(2) for one in the foreground, and in rt_sigsuspend(2) for the others. bash is in
// wait4 for both, as mksh is in rt_sigsuspend. Where the program or the call can't be read, or the call
// is none of these, as by another architecture's numbers, a shell may wait.
func WaitingOf(p *proc.Process) Waiting {
	exe := withoutSuffix(p.Exe)
	certain := exe == "dash" || exe == "busybox"
	idles := slices.Contains([]int{unix.SYS_RT_SIGSUSPEND, unix.SYS_READ, unix.SYS_PSELECT6}, p.Call.Number)
	switch {
	case !p.Call.Sleeps, idles && (certain || exe == "bash" || exe == "rbash"):
		return NotWaiting
	case certain && p.Call.Number == unix.SYS_WAIT4:
		return Waits
	}
	return MayWait
}
