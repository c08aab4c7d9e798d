package harness

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// startTraced starts the command and has a strace trace its init from the first
// instruction on. To the init the strace is neither a parent nor a process below it,
// which all else here depends upon.
func (p *Init) startTraced() error {
	// The stage is traced by a thread: the one that forked it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.Cmd.Start(); err != nil {
		return err
	}
	err := p.stopAtExec()
	if err == nil {
		err = p.attach()
	}
	if err == nil {
		err = p.Cmd.Process.Signal(unix.SIGCONT)
	}
	if err != nil {
		_ = p.Cmd.Process.Kill()
		_ = p.Cmd.Wait()
	}
	return err
}

// stopAtExec waits until the stage has become the init, and leaves that stopped
// and untraced.
func (p *Init) stopAtExec() error {
	init := filepath.Base(DrainitBin)
	for deadline := time.Now().Add(Patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		switch StateOf(p.Pid()) {
		case 0, 'Z':
			return errors.New("the stage has failed")
		case 't':
			if Comm(p.Pid()) == init {
				return ptrace(unix.PTRACE_DETACH, p.Pid(), unix.SIGSTOP)
			}
			// A signal that the Go runtime sends itself.
			if err := ptrace(unix.PTRACE_CONT, p.Pid(), 0); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("no exec in %v", Patience)
}

func ptrace(request, pid int, sig unix.Signal) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), 0, uintptr(sig), 0, 0)
	if errno != 0 {
		return fmt.Errorf("ptrace %d: %w", request, errno)
	}
	return nil
}

// OwnStderr stands in the arguments of a strace for the file that the init has as its
// standard error.
const OwnStderr = "{stderr}"

// attach starts the strace and waits until it traces the init, with which it ends.
func (p *Init) attach() (err error) {
	args := append(slices.Clone(p.trace), "-p", strconv.Itoa(p.Pid()))
	if i := slices.Index(args, OwnStderr); i > 0 {
		if args[i], err = os.Readlink(fmt.Sprintf("/proc/%d/fd/2", p.Pid())); err != nil {
			return err
		}
	}
	cmd := exec.Command("strace", args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(stderr)
	if line, err := lines.ReadString('\n'); !strings.Contains(line, "attached") {
		return errors.Join(fmt.Errorf("strace says %q", line), err, cmd.Wait())
	}
	p.Tracer = make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		_ = cmd.Wait()
		close(p.Tracer)
	}()
	return nil
}
