package spawn

import (
	"os"

	"golang.org/x/sys/unix"
)

// inputFor returns the descriptor that is to be the worker's standard input, and what releases it. It is 0,
// but another one of /dev/null, opened for reading and writing, where drainit's own is /dev/null, opened to
// read. So drainit can tell the input of a shell from the one that the shell gives a command in its
// background, which is /dev/null opened to read, too.
func inputFor() (fd uintptr, release func()) {
	var own, null unix.Stat_t
	flags, err := unix.FcntlInt(0, unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDONLY || unix.Fstat(0, &own) != nil {
		return 0, func() {}
	}
	if own.Mode&unix.S_IFMT != unix.S_IFCHR || unix.Stat(os.DevNull, &null) != nil || own.Rdev != null.Rdev {
		return 0, func() {}
	}
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, func() {}
	}
	return f.Fd(), func() { _ = f.Close() }
}
