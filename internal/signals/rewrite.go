package signals

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Drop stands in a rewrite for "deliver nothing".
const Drop = unix.Signal(0)

// Rewrites holds the signals that are delivered instead of the signals that came.
type Rewrites map[unix.Signal]unix.Signal

// Apply returns the signal to deliver, or Drop.
func (r Rewrites) Apply(sig unix.Signal) unix.Signal {
	if to, ok := r[sig]; ok {
		return to
	}
	return sig
}

// Before returns the signal that is rewritten to sig, the first by number of several, and sig itself if there
// is none.
func (r Rewrites) Before(sig unix.Signal) unix.Signal {
	for _, from := range r.From() {
		if r[from] == sig {
			return from
		}
	}
	return sig
}

// From returns the signals that are rewritten, by number.
func (r Rewrites) From() []unix.Signal { return slices.Sorted(maps.Keys(r)) }

// ParseRewrite reads a rule FROM:TO, "TERM:QUIT" or "15:3" or "HUP:0". FROM need not be Rewritable: dumb-init
// takes any number. TO must not be STOP, which would freeze the worker, nor 32 or 33, which are the C
// library's.
func ParseRewrite(rule string) (from, to unix.Signal, err error) {
	left, right, ok := strings.Cut(rule, ":")
	if !ok {
		return 0, 0, fmt.Errorf("invalid rewrite %q: want FROM:TO, such as TERM:QUIT", rule)
	}
	if from, err = Parse(left); err != nil {
		return 0, 0, err
	}
	if right == "0" {
		return from, Drop, nil
	}
	if to, err = Parse(right); err != nil {
		return 0, 0, err
	}
	if to == unix.SIGSTOP || to == 32 || to == 33 {
		return 0, 0, fmt.Errorf("%s can't be delivered in place of %s: it would freeze or break the worker",
			Name(to), Name(from))
	}
	return from, to, nil
}
