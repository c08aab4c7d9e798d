package rehearse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"drainit/internal/spawn"
)

// errStopCame says that a stop signal has ended a command.
var errStopCame = errors.New("a stop signal has ended it")

// script runs the command line in $0 with descriptor 4 as its standard input, and writes its exit status to
// descriptor 3. If drainit dies, the kernel sends the shell TERM (the parent-death signal), and the shell
// passes it on to its group.
const script = `trap 'trap "" TERM; kill 0' TERM
(trap - TERM; exec 3>&- 4<&-; eval "$0") <&4 &
wait $!; echo $? >&3`

// run runs a command line by sh(1), and returns why it failed, nil if its status is 0. name is the flag that
// gave the line. The status comes through a pipe, as drainit's loop reaps every process. The command is
// killed after Within, and when a stop signal comes. That until is done is a sign of such a signal, too. The
// caller must be on a locked thread that lives as long as the command.
func (r *rehearsal) run(until context.Context, name, line string) error {
	limited, cancel := context.WithTimeout(until, r.Within)
	defer cancel()
	ctx, stop := signal.NotifyContext(limited, unix.SIGTERM, unix.SIGINT)
	defer stop()
	pid := 0
	answer, w, err := os.Pipe()
	context.AfterFunc(ctx, func() { _ = answer.Close() }) // which ends the read
	if err == nil {
		attr := &syscall.ProcAttr{Dir: r.dir, Env: r.cfg.Env, Files: []uintptr{0, 2, 2, w.Fd(), 0}}
		attr.Sys = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGTERM}
		pid, err = syscall.ForkExec("/bin/sh", []string{"sh", "-c", script, line}, attr)
		_ = w.Close()
	}
	if err != nil {
		return fmt.Errorf("%s exited with status %d", name, spawn.StatusNotFound)
	}
	text, _ := io.ReadAll(answer)
	switch status := strings.TrimSpace(string(text)); {
	case ctx.Err() == context.DeadlineExceeded:
		err = fmt.Errorf("%s took longer than %v (--within)", name, r.Within)
	case ctx.Err() != nil:
		err = fmt.Errorf("%s: %w", name, errStopCame)
	case status == "0":
		return nil
	case status != "":
		return fmt.Errorf("%s exited with status %s", name, status)
	default:
		err = fmt.Errorf("%s was killed", name)
	}
	_ = unix.Kill(-pid, unix.SIGKILL)
	return err
}
