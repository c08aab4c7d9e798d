package main

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ctty makes standard input the controlling terminal of the session that this
// process leads, and becomes args.
//
//	worker ctty COMMAND [ARG...]
func ctty(args []string) error {
	if err := unix.IoctlSetInt(0, unix.TIOCSCTTY, 0); err != nil {
		return fmt.Errorf("cannot take the terminal: %w", err)
	}
	return syscall.Exec(args[0], args, os.Environ())
}

// asRoot is for a set-uid copy of this program: as sudo does, it leaves nothing
// of the user who called it, who may not signal it from then on.
//
//	worker asroot COMMAND [ARG...]
func asRoot(args []string) error {
	if err := syscall.Setresuid(0, 0, 0); err != nil {
		return fmt.Errorf("not set-uid root: %w", err)
	}
	return syscall.Exec(args[0], args, os.Environ())
}
