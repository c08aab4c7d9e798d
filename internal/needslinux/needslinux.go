//go:build linux

// Package needslinux is empty. A build for another system ends at once with its name, and not with what each
// package of drainit lacks there: /proc, pidfds, PID namespaces.
package needslinux
