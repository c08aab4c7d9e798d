package proc

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// asOwner makes a call that reads what /proc shows only to those who may trace a process:
// its exe, fd, syscall, mem and environ. Where that is not permitted, the call is made
// again as the process's own user: root without CAP_SYS_PTRACE, as Docker has it, may not
// read those of another user, and that user may (ptrace(2), PTRACE_MODE_FSCREDS).
func asOwner(pid int, call func() error) error {
	err := call()
	if !isNotPermitted(err) || os.Geteuid() != 0 {
		return err
	}
	var owner unix.Stat_t
	if unix.Stat("/proc/"+strconv.Itoa(pid), &owner) != nil || owner.Uid == 0 && owner.Gid == 0 {
		return err
	}
	return actAs(int(owner.Uid), int(owner.Gid), call)
}

// actAs makes a call with another user's rights to files (setfsuid(2)), which are those of
// the one thread, that of the reading: never of the main one, which would forget its parent-death signal by it,
// as the process forgets that it may be dumped (kernel/cred.c, commit_creds).
func actAs(uid, gid int, call func() error) error {
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	_, _ = unix.SetfsgidRetGid(gid)
	_, _ = unix.SetfsuidRetUid(uid)
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

// readLink is what a link of a process leads to.
func readLink(pid int, name string) (link string, err error) {
	err = asOwner(pid, func() (err error) {
		link, err = os.Readlink(procPath(pid, name))
		return err
	})
	return link, err
}

// readOwned reads a file of a process whole.
func readOwned(pid int, name string) (b []byte, err error) {
	err = asOwner(pid, func() (err error) {
		b, err = readSmall(procPath(pid, name))
		return err
	})
	return b, err
}
