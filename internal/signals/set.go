package signals

import (
	"math/bits"

	"golang.org/x/sys/unix"
)

// Set is a set of signals: bit n-1 is signal n, as in /proc/PID/status (proc(5)).
type Set uint64

// SetOf returns the set of these signals; 0 adds nothing.
func SetOf(all ...unix.Signal) (s Set) {
	for _, sig := range all {
		s |= 1 << (uint(sig) - 1) // a shift of 64 or more gives 0
	}
	return s
}

// Has reports whether a signal is in the set.
func (s Set) Has(sig unix.Signal) bool { return s&SetOf(sig) != 0 }

// Next returns the lowest signal of the set above sig, or the lowest of all if there is none. The
// set must not be empty.
func (s Set) Next(sig unix.Signal) unix.Signal {
	if above := s &^ (1<<uint(sig) - 1); above != 0 {
		s = above
	}
	return unix.Signal(bits.TrailingZeros64(uint64(s)) + 1)
}

// Mask returns the set of one signal below 32, as rt_sigprocmask(2) takes it.
func Mask(sig unix.Signal) (mask unix.Sigset_t) {
	mask.Val[0] = 1 << (sig - 1)
	return mask
}
