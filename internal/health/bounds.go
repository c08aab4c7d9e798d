package health

import "time"

// Bounds of a probe. A client that goes beyond them is cut off, and no other is.
const (
	probesAtMost  = 16 // a new one displaces the oldest
	probeTime     = 2 * time.Second
	requestAtMost = 4 << 10
	retryAccept   = 100 * time.Millisecond // where no descriptor is to be had
	waitingAtMost = 1024                   // connections that the kernel keeps until they are accepted
)
