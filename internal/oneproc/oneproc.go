// Package oneproc has the Go runtime make use of one processor. drainit never has more to do at
// once than one event to act upon, and with more, each hand-over from one goroutine to another
// wakes a thread that looks in vain for something to do. What blocks in the kernel keeps the
// one until the runtime's monitor sees that, after some 0.1 ms as a rule.
//
// It is a package of its own, with nothing below it but the runtime, so that it is initialized
// before those that start goroutines.
package oneproc

import "runtime"

func init() { runtime.GOMAXPROCS(1) }
