// Drainit is the first process of a container: it runs one worker and sees it, and what it
// leaves behind, through quiet, drain and stop.
//
//	drainit [flags] -- COMMAND [ARG...]
//	drainit plan [flags] -- COMMAND [ARG...]
//	drainit status | quiet | resume | stop [flags]
//	drainit --install DIR
//
// Started by the name drainit-runtime it is an OCI runtime, which gives containers their drainit.
//
// Flags, signals and exit statuses are in --help, the manual page and README.md.
package main

import (
	"os"
	"runtime"

	"drainit/internal/cli"
	_ "drainit/internal/needslinux"
	"drainit/internal/ociruntime"
	_ "drainit/internal/oneproc"
	"drainit/internal/term"
)

// init keeps main on the main thread, which forks the worker, and asks for a signal at the death of drainit's
// parent: the worker inherits the signal mask of the thread that forks it, and each thread has a parent-death
// signal of its own.
func init() {
	runtime.LockOSThread()
}

func main() {
	if ociruntime.Is(os.Args[0]) {
		os.Exit(ociruntime.Run(os.Args, os.Environ(), cli.CheckGrace))
	}
	outcome := cli.Run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	if outcome.Interrupted {
		term.EndByInterrupt()
	}
	os.Exit(outcome.Status)
}
