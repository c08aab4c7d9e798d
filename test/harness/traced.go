package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// startTraced starts the command, and leaves its init stopped before its first instruction.
func (p *Init) startTraced() error {
	// The stage is traced by a thread: the one that forked it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.Cmd.Start(); err != nil {
		return err
	}
	err, isInit := error(nil), false
	Within(Patience, func() bool {
		switch state := StateOf(p.Pid()); {
		case state == 0 || state == 'Z':
			err = errors.New("the stage has failed")
		case state == 't' && Comm(p.Pid()) == filepath.Base(DrainitBin):
			isInit = true
		case state == 't':
			err = unix.PtraceCont(p.Pid(), 0) // a signal that the Go runtime sends itself
		}
		return isInit || err != nil
	})
	if !isInit {
		return errors.Join(err, errors.New("no exec of the init"))
	}
	if _, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(p.Pid()), 0,
		uintptr(unix.SIGSTOP), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// OwnStderr stands in the arguments of a strace for the file that the init has as its
// standard error.
const OwnStderr = "{stderr}"

// attach has a strace trace the init, with which it ends, and continues that. To the init the strace
// is neither a parent nor a process below it, which all else here depends upon.
func (p *Init) attach(strace []string) {
	args := append(slices.Clone(strace), "-p", strconv.Itoa(p.Pid()))
	if i := slices.Index(args, OwnStderr); i > 0 {
		file, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/2", p.Pid()))
		Must(p.T, err)
		args[i] = file
	}
	cmd := exec.Command("strace", args...)
	r, w := Pipe(p.T)
	cmd.Stderr = w
	Must(p.T, errors.Join(cmd.Start(), w.Close()))
	p.Tracer = make(chan struct{})
	go func() { _ = cmd.Wait(); close(p.Tracer) }()
	p.WaitFor(Collect(r), "attached")
	Must(p.T, p.Cmd.Process.Signal(unix.SIGCONT))
}
