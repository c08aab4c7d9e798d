// Package signals knows the signals of Linux: their names, sets of them, which of them
// drainit can forward, and rewrites of one to another.
//
// It owns no state and makes no system call. The package is not called sig, for that
// is the name of nearly every variable of type unix.Signal.
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

// ForceStop is drainit's own: it kills at once, and is not forwarded. Who may send it is the kernel's
// choice (kill(2)).
const ForceStop = maxSignal

// aliases are names beside those that Name has (signal(7)).
var aliases = map[string]unix.Signal{
	"CLD": unix.SIGCHLD, "POLL": unix.SIGIO, "IOT": unix.SIGABRT, "UNUSED": unix.SIGSYS, "RTMIN+0": rtMin, "RTMAX": maxSignal,
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

// Name is the name of a signal with SIG: "SIGTERM", "SIGRTMIN+3", and "SIG32"
// for one that has none. Parse takes it back.
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

// Faults are the signals by which the kernel tells a program of an instruction of its own, and
// which the Go runtime does not deliver, or not always (package os/signal, "Types of signals").
func Faults() []unix.Signal {
	return []unix.Signal{unix.SIGILL, unix.SIGTRAP, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSTKFLT, unix.SIGSYS}
}

// Forwardable reports whether the signal is ever passed on. KILL and STOP no process can see,
// and PROF and 32 to 34 the Go runtime never delivers. Faults and ForceStop are drainit's own, CHLD is
// about its own children, PIPE and XFSZ about its own log, XCPU about its own time, and URG
// interrupts the threads of the Go runtime, which sends it to itself all the time.
func Forwardable(sig unix.Signal) bool {
	switch sig {
	case unix.SIGKILL, unix.SIGSTOP, unix.SIGPROF, 32, 33, rtMin,
		unix.SIGCHLD, unix.SIGPIPE, unix.SIGURG, unix.SIGXFSZ, unix.SIGXCPU, ForceStop:
		return false
	}
	return sig >= 1 && sig <= maxSignal && !slices.Contains(Faults(), sig)
}

// StopsByDefault reports whether a signal stops what does not handle it: no work, no heartbeats,
// and a later TERM is not seen.
func StopsByDefault(sig unix.Signal) bool {
	return sig == unix.SIGTSTP || sig == unix.SIGTTIN || sig == unix.SIGTTOU
}

// All returns the signals that are passed on, in order of their numbers.
func All() []unix.Signal {
	var all []unix.Signal
	for sig := unix.Signal(1); sig <= maxSignal; sig++ {
		if Forwardable(sig) {
			all = append(all, sig)
		}
	}
	return all
}
