package sigqueue

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// onFault is a signal handler, in assembly. It returns if a process has sent the signal. Otherwise it goes on
// with the Go runtime's handler. The kernel sets si_code above 0 for a fault, and lets no process do so
// (rt_sigqueueinfo(2)). The runtime itself takes a signal for sent only if kill(2) or tgkill(2) has sent it
// (runtime/os_linux.go, sigFromUser).
//
//lint:ignore U1000 the assembly has its address
func onFault()

var (
	onFaultPC uintptr // where onFault is: a function value leads to a wrapper in Go
	goHandler uintptr // the runtime's
)

// IgnoreSentFaults has drainit ignore the faults that a process sends to it, by kill(2) or sigqueue(3). The
// Go runtime would take one for its own and end the program. A real fault ends drainit with the runtime's
// report and status 2.
func IgnoreSentFaults() {
	for _, sig := range signals.Faults() {
		if was := setHandler(sig, onFaultPC); was != 0 {
			goHandler = was
		}
	}
}

// receiveSent has the Go runtime handle a fault again, so that one from kill(2) can be subscribed to. One
// from sigqueue(3) ends drainit from then on.
func receiveSent(fault unix.Signal) { setHandler(fault, goHandler) }

// setHandler changes only the handler of a signal, and returns the handler before, 0 if that fails.
func setHandler(sig unix.Signal, to uintptr) (before uintptr) {
	action, err := SetAction(sig, Ignore)
	if err != nil {
		return 0
	}
	handler := (*uintptr)(unsafe.Pointer(&action))
	before, *handler = *handler, to
	_, _ = SetAction(sig, action)
	return before
}
