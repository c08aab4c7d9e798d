package sigqueue

import (
	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// IgnoreFaults has the kernel drop a fault that some process sends. The Go runtime takes one
// for drainit's own, and ends it, as long as it is not subscribed to; and one that is sent by
// sigqueue(3) always (runtime/os_linux.go, sigFromUser). To block them is no way out: the
// runtime unblocks them in each new thread.
//
// A fault of drainit's own ends it all the same: the kernel then takes the default action in
// place of being ignored, as PID 1 too (kernel/signal.c, force_sig_info_to_task). A worker does
// not inherit it, for the runtime makes default in each child what it had a handler for at the
// start; but an exec without a fork would keep it.
func IgnoreFaults() { ignore(signals.Faults()...) }

// ignoreUndelivered is for 32 and 34, for which the runtime has no handler: they would end a
// drainit that is not PID 1. A child would inherit it, so that none may be started any longer.
func ignoreUndelivered() { ignore(32, 34) }

func ignore(these ...unix.Signal) {
	for _, sig := range these {
		_, _ = SetAction(sig, Ignore) // fails for KILL and STOP alone
	}
}
