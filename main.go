// Command drainit is the first process of a container: it runs one worker and
// sees it through quiet, drain and stop.
package main

import (
	"fmt"
	"os"
	"runtime"

	"drainit/internal/cli"
	"drainit/internal/spawn"
	"drainit/internal/term"
)

// The worker inherits the signal mask of the thread that forks it, and the parent-death
// signal is asked for by thread: both are done on the main one.
func init() {
	if os.Args[0] != spawn.ListenArg0 && !cli.IsVerb(os.Args[1:]) {
		spawn.GatherThreads() // before there are any
	}
	runtime.LockOSThread()
}

func main() {
	if os.Args[0] == spawn.ListenArg0 {
		err := spawn.ExecListening(os.Args[1:], os.Environ())
		fmt.Fprintln(os.Stderr, "drainit: error:", err)
		os.Exit(err.Status)
	}
	outcome := cli.Run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	if outcome.Interrupted {
		term.EndByInterrupt()
	}
	os.Exit(outcome.Status)
}
