// Command rollout makes three rolling updates in a real Kubernetes of this machine's own for each
// init, and counts the jobs that they interrupt:
//
//	go run ./test/cmd/rollout
//
// It needs root and some of Debian's packages, which it names, and builds Kubernetes the first time, with
// gigabytes of Go's caches. What a run leaves that SIGKILL ends is removed by the next.
// The exit status is 1 if drainit has interrupted a job, or if anything of the cluster stays.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"

	"golang.org/x/sys/unix"

	"drainit/test/rollout"
)

// The cluster's parent-death signal is tied to the thread that forks.
func init() { runtime.LockOSThread() }

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "rollout:", err)
		os.Exit(1)
	}
}

func run() error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	s := rollout.Settings{Inits: new(regexp.Regexp), Modes: new(regexp.Regexp)}
	every := regexp.MustCompile("")
	flags := flag.NewFlagSet("rollout", flag.ExitOnError)
	flags.TextVar(s.Inits, "inits", every,
		"try the inits whose names `match`: drainit, drainit-readme, tini, tini-g, dumb-init, "+
			"catatonit, none")
	flags.TextVar(s.Modes, "modes", every,
		"try the modes whose names `match`: one or four jobs at a time, one-lease and four-lease that "+
			"give interrupted ones again, and exec, trap and wait with other start scripts")
	flags.BoolVar(&s.Inject, "inject", false,
		"try ways to bring drainit into images that are left as they are: without, drainit-class and "+
			"drainit-namespace as a runtime, drainit-shared-volume and drainit-image-volume by a manifest; "+
			"the modes are their entrypoints: start, trap, tini, dumb-init and npm")
	flags.IntVar(&s.Jobs, "jobs", 150, "jobs for each init in each mode, at least")
	flags.StringVar(&s.Cache, "cache", filepath.Join(cache, "drainit-rollout"),
		"the `folder` in which the built Kubernetes is kept")
	_ = flags.Parse(os.Args[1:]) // it exits
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	return rollout.Run(ctx, s)
}
