// Drainit is the first process of a container: it runs one worker and sees it, and what it
// leaves behind, through quiet, drain and stop.
//
//	drainit [flags] -- COMMAND [ARG...]
//	drainit plan [flags] -- COMMAND [ARG...]
//	drainit status | quiet | resume | stop [flags]
//
// Flags, signals and exit statuses are in --help, the manual page and README.md.
package main

import (
	"fmt"
	"os"
	"runtime"

	"drainit/internal/cli"
	_ "drainit/internal/needslinux"
	_ "drainit/internal/oneproc"
	"drainit/internal/sigqueue"
	"drainit/internal/spawn"
	"drainit/internal/term"
)

// The worker inherits the signal mask of the thread that forks it, and the parent-death
// signal is asked for by thread: both are done on the main one. A drainit that becomes the
// worker ignores no signal, for an exec would keep that.
func init() {
	if os.Args[0] != spawn.ListenArg0 && !cli.IsVerb(os.Args[1:]) {
		sigqueue.IgnoreFaults() // first: one may come at once
	}
	runtime.LockOSThread()
}

func main() {
	if os.Args[0] == spawn.ListenArg0 {
		err := spawn.ExecListening(os.Args[1:])
		fmt.Fprintln(os.Stderr, "drainit: error:", err)
		os.Exit(err.Status)
	}
	outcome := cli.Run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	if outcome.Interrupted {
		term.EndByInterrupt()
	}
	os.Exit(outcome.Status)
}
