// Package cli is drainit's command line and environment: what each flag, variable and
// verb means, and what is said of one that is wrong.
//
// It owns the defaults, the texts of usage and help, and the version. It must never start
// or signal anything itself: package supervisor does for a worker, and package inspect for
// a verb.
package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"drainit/internal/inspect"
	"drainit/internal/logx"
	"drainit/internal/sigqueue"
	"drainit/internal/spawn"
	"drainit/supervisor"
)

var errNoCommand = errors.New("there is no COMMAND to run")

// Run is main with its surroundings as arguments. It runs a verb, prints what was asked
// for, or runs the worker to its end, and returns how drainit is to end. It must be called
// on the locked main thread, as supervisor.Run must.
func Run(args, environ []string, stdout, stderr io.Writer) supervisor.Outcome {
	if len(args) > 0 && inspect.IsVerb(args[0]) {
		return supervisor.Outcome{Status: runVerb(args, stdout, stderr)}
	}
	queue := sigqueue.Open() // first: a stop signal may come at once
	o, err := parse(args, environ)
	if errors.Is(err, pflag.ErrHelp) {
		return supervisor.Outcome{Status: show(help, stdout, stderr)}
	}
	if err == nil && o.version {
		return supervisor.Outcome{Status: show(version(), stdout, stderr)}
	}
	if err == nil && len(o.config.Command) == 0 {
		err = errNoCommand
	}
	if err != nil {
		return supervisor.Outcome{Status: refuse(o, err, stderr)}
	}
	// A heap that grows by a quarter, and not by as much again, keeps PID 1 small. GOGC
	// and GOMEMLIMIT in the environment are meant for the worker.
	debug.SetGCPercent(25)
	debug.SetMemoryLimit(math.MaxInt64)
	log := logx.New(unix.Stderr, o.json, o.level)
	defer log.Close()
	return supervisor.Run(o.config, queue, log)
}

// refuse reports a command line that can't be run, to the platform too, and returns the
// exit status for it.
func refuse(o *options, err error, stderr io.Writer) int {
	_ = logx.WriteTerminationLog(o.config.TerminationLog, err.Error()) // stderr has it all the same
	status := fail(err, stderr)
	if errors.Is(err, errNoCommand) {
		fmt.Fprint(stderr, usage)
	}
	return status
}

// fail writes an error as one line and returns the exit status for it.
func fail(err error, stderr io.Writer) int {
	fmt.Fprintf(stderr, "drainit: %s\n", logx.Printable(err.Error()))
	return spawn.StatusFailed
}

// show writes a text that was asked for and returns the exit status.
func show(text string, stdout, stderr io.Writer) int {
	if _, err := io.WriteString(stdout, text); err != nil {
		return fail(err, stderr)
	}
	return 0
}
