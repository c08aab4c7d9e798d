package proc

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// asOwner makes a call that reads what /proc shows only to those who may trace a process:
// its exe, fd, syscall and mem. Where that is not permitted, the call is made
// again as the process's own user: root without CAP_SYS_PTRACE, as Docker has it, may not
// read those of another user, and that user may (ptrace(2), PTRACE_MODE_FSCREDS).
//
// The rights to files (setfsuid(2)) are those of one thread, that of the reading. It must not be
// the main one, which would forget its parent-death signal, as the process forgets that it may be
// dumped (kernel/cred.c, commit_creds).
func asOwner[T any](pid int, call func() (T, error)) (T, error) {
	got, err := call()
	if !isNotPermitted(err) || os.Geteuid() != 0 {
		return got, err
	}
	var owner unix.Stat_t
	if unix.Stat(procPath(pid, ""), &owner) != nil || owner.Uid == 0 && owner.Gid == 0 {
		return got, err
	}
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	_, _ = unix.SetfsgidRetGid(int(owner.Gid))
	_, _ = unix.SetfsuidRetUid(int(owner.Uid))
	defer func() { // with the user the capabilities for files come back
		_, _ = unix.SetfsuidRetUid(os.Geteuid())
		_, _ = unix.SetfsgidRetGid(os.Getegid())
		if err == nil && dumpable == 1 {
			_ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
		}
	}()
	return call()
}

func isNotPermitted(err error) bool {
	return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)
}
