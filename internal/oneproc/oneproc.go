// Package oneproc limits the Go runtime to one processor. drainit acts upon one event at a time. With more
// processors, each hand-over between goroutines wakes a thread that looks in vain for something to do. This
// is a package of its own so that it is initialized before those that start goroutines.
package oneproc

import "runtime"

func init() { runtime.GOMAXPROCS(1) }
