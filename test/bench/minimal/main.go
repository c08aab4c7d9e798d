// Command minimal is the least that an init in Go can be: it starts a command,
// passes its signals on and waits. The bench runs it beside drainit to tell
// what drainit costs from what the Go runtime does. It is no init to use.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGUSR1, syscall.SIGCHLD)
	pid, err := syscall.ForkExec(os.Args[1], os.Args[1:], &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2, 3},
	})
	if err != nil {
		os.Exit(127)
	}
	for sig := range signals {
		if sig == syscall.SIGCHLD {
			reap(pid)
			continue
		}
		_ = syscall.Kill(pid, sig.(syscall.Signal))
	}
}

func reap(worker int) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if pid == worker {
			os.Exit(status.ExitStatus())
		}
		if pid <= 0 || err != nil {
			return
		}
	}
}
