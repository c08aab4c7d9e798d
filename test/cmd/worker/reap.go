package main

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// reap runs a command and reaps what it leaves, as an init does. Its exit status is the command's. It is for the tests
// where PID 1 is go test, which reaps no process that is not its own: a million zombies would fill the process table.
func reap(args []string) {
	must("become a subreaper", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM)
	p, err := os.StartProcess(args[0], args, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	must("start "+args[0], err)
	go func() {
		for sig := range signals {
			_ = syscall.Kill(p.Pid, sig.(syscall.Signal))
		}
	}()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			must("wait", err)
		case pid == p.Pid && status.Signaled():
			os.Exit(128 + int(status.Signal()))
		case pid == p.Pid:
			os.Exit(status.ExitStatus())
		}
	}
}
