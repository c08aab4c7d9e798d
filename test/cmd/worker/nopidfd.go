package main

import "golang.org/x/sys/unix"

// noPidfdSignal becomes a command that may open pidfds and may not signal through them, by a
// seccomp profile that knows the one system call and not the other.
//
//	worker nopidfdsignal COMMAND [ARG...]
func noPidfdSignal(args []string) error {
	return becomeFailing(unix.SYS_PIDFD_SEND_SIGNAL,
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: 0}, unix.EPERM, args) // whatever the argument
}
