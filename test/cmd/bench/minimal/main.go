// Command minimal is the least that an init in Go can be: it starts a command,
// passes every signal on, as the peers do, and waits. The bench runs it beside
// drainit to tell what drainit costs from what the Go runtime does. It is no init
// to use: a flood of one signal pushes out the others.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 64)
	signal.Notify(signals)
	worker, err := syscall.ForkExec(os.Args[1], os.Args[1:],
		&syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2, 3}})
	if err != nil {
		os.Exit(127)
	}
	for sig := range signals {
		switch sig {
		case syscall.SIGCHLD:
			reap(worker)
		case syscall.SIGURG, syscall.SIGPIPE: // the runtime's own
		default:
			_ = syscall.Kill(worker, sig.(syscall.Signal))
		}
	}
}

func reap(worker int) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case pid == worker:
			os.Exit(status.ExitStatus())
		case pid <= 0 || err != nil:
			return
		}
	}
}
