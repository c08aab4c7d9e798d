// Package signals knows the signals of Linux: their names, sets of them, which of them
// drainit can forward, and rewrites of one to another. It has no state and makes no system call.
package signals

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Real-time signals as libc counts them: 32 and 33 are glibc's own, and 34,
// RTMIN, is one that the Go runtime leaves alone (runtime/sigtab_linux_generic.go).
const (
	rtMin     = unix.Signal(34)
	maxSignal = unix.Signal(64) // RTMAX
)

// ForceStop is the signal that drainit stop --force sends. drainit kills at once, whichever process has sent
// it, unless it is rewritten.
const ForceStop = maxSignal

// aliases are further names of signals (signal(7)).
var aliases = map[string]unix.Signal{
	"CLD": unix.SIGCHLD, "POLL": unix.SIGIO, "IOT": unix.SIGABRT,
	"UNUSED": unix.SIGSYS, "RTMIN+0": rtMin, "RTMAX": maxSignal,
}

// Parse reads a signal: a name with or without SIG in either case, a number
// from 1 to 64, RTMIN+n or RTMAX-n. The error says what was expected.
func Parse(s string) (unix.Signal, error) {
	if n, err := strconv.Atoi(s); err == nil {
		if n < 1 || n > int(maxSignal) || s[0] == '+' {
			return 0, fmt.Errorf("invalid signal %q: numbers go from 1 to %d", s, maxSignal)
		}
		return unix.Signal(n), nil
	}
	name := strings.TrimPrefix(strings.ToUpper(s), "SIG")
	if sig, ok := aliases[name]; ok {
		return sig, nil
	}
	for sig := unix.Signal(1); sig <= maxSignal; sig++ {
		if "SIG"+name == Name(sig) || sig >= rtMin && name == fmt.Sprintf("RTMAX-%d", maxSignal-sig) {
			return sig, nil
		}
	}
	return 0, fmt.Errorf("invalid signal %q: want a name such as TERM or SIGTERM, RTMIN+3, or a number", s)
}

// Name is the name of a signal: "SIGTERM", "SIGRTMIN+3", and "SIG32" for one that has none.
func Name(sig unix.Signal) string {
	name := unix.SignalName(sig)
	switch {
	case sig == rtMin:
		return "SIGRTMIN"
	case sig > rtMin && sig <= maxSignal:
		return fmt.Sprintf("SIGRTMIN+%d", sig-rtMin)
	case name == "":
		return "SIG" + strconv.Itoa(int(sig))
	}
	return name
}

// Short is the name of a signal as flags take it, without SIG: "TERM".
func Short(sig unix.Signal) string { return strings.TrimPrefix(Name(sig), "SIG") }

// Faults returns the signals that the kernel sends to a program for an instruction of its own. The
// Go runtime does not always deliver them (package os/signal, "Types of signals").
func Faults() []unix.Signal {
	return []unix.Signal{
		unix.SIGILL, unix.SIGTRAP, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSTKFLT, unix.SIGSYS,
	}
}

// Forwardable reports whether a signal is ever forwarded as it is. No process sees KILL and STOP, and the Go
// runtime never delivers PROF and 32 to 34. Faults, CHLD, PIPE, XFSZ, XCPU and ForceStop are for drainit
// itself, and the Go runtime sends URG to its own threads.
func Forwardable(sig unix.Signal) bool {
	switch sig {
	case unix.SIGKILL, unix.SIGSTOP, unix.SIGPROF, 32, 33, rtMin,
		unix.SIGCHLD, unix.SIGPIPE, unix.SIGURG, unix.SIGXFSZ, unix.SIGXCPU, ForceStop:
		return false
	}
	return sig >= 1 && sig <= maxSignal && !slices.Contains(Faults(), sig)
}

// Rewritable reports whether a signal that comes to drainit may be rewritten to another. A fault, or
// ForceStop, is forwarded only if it was.
func Rewritable(sig unix.Signal) bool {
	return Forwardable(sig) || sig == ForceStop || slices.Contains(Faults(), sig)
}

// StopsByDefault reports whether a signal stops a process that does not handle it.
func StopsByDefault(sig unix.Signal) bool {
	return sig == unix.SIGTSTP || sig == unix.SIGTTIN || sig == unix.SIGTTOU
}

// EndsByDefault reports whether a signal ends a process that does not handle it.
func EndsByDefault(sig unix.Signal) bool {
	return Forwardable(sig) && !StopsByDefault(sig) && sig != unix.SIGCONT && sig != unix.SIGWINCH
}

// All returns the Forwardable signals, by number.
func All() []unix.Signal {
	var all []unix.Signal
	for sig := unix.Signal(1); sig <= maxSignal; sig++ {
		if Forwardable(sig) {
			all = append(all, sig)
		}
	}
	return all
}
