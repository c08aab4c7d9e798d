// Command minimal is the least that an init in Go can be: it starts a command,
// passes every signal on, as the peers do, and waits. The bench runs it beside
// drainit to tell what drainit costs from what the Go runtime does. It is no init
// to use: a flood of one signal pushes out the others.
//
// With -all it passes each signal on to the command's process group, and ends when no child is
// left: the least that an init can do by which jobs end well whose worker signals none.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 64)
	signal.Notify(signals)
	command := os.Args[1:]
	all := command[0] == "-all"
	if all {
		command = command[1:]
	}
	pid, err := syscall.ForkExec(command[0], command, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2, 3}, Sys: &syscall.SysProcAttr{Setpgid: all},
	})
	if err != nil {
		os.Exit(127)
	}
	to := pid
	if all {
		to = -pid
	}
	for sig := range signals {
		switch sig {
		case syscall.SIGCHLD:
			reap(pid, all)
		case syscall.SIGURG, syscall.SIGPIPE: // the runtime's own
		default:
			_ = syscall.Kill(to, sig.(syscall.Signal))
		}
	}
}

func reap(worker int, all bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case pid == worker && !all:
			os.Exit(status.ExitStatus())
		case err == syscall.ECHILD:
			os.Exit(0)
		case pid <= 0 || err != nil:
			return
		}
	}
}
