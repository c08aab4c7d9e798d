// Package oneproc has the Go runtime begin with one processor. With more, each hand-over from
// one goroutine to another wakes a thread that looks in vain for something to do; and the start
// is little but hand-overs, one for each subscription to a signal and one back.
//
// It is a package of its own, with nothing below it but the runtime, so that it is initialized
// before those that start goroutines. spawn.SpreadThreads ends it.
package oneproc

import "runtime"

func init() { runtime.GOMAXPROCS(1) }
