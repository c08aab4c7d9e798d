// Package oneproc has the Go runtime make use of one processor: drainit acts upon one event at a
// time, and with more, each hand-over between goroutines wakes a thread that looks in vain for
// something to do. It is a package of its own so that it is initialized before those that start
// goroutines.
package oneproc

import "runtime"

func init() { runtime.GOMAXPROCS(1) }
