package main

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// noCall becomes a command that may not make one system call, by a seccomp profile.
//
//	worker nocall NUMBER COMMAND [ARG...]
func noCall(args []string) error {
	call, err := strconv.ParseUint(args[0], 10, 32)
	if err != nil {
		return fmt.Errorf("not the number of a system call: %w", err)
	}
	return becomeFailing(uint32(call),
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: 0}, unix.EPERM, args[1:]) // whatever the argument
}
