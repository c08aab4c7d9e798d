// Package cli is drainit's command line and environment: the meaning of each flag, variable
// and verb, and the line about one that is wrong.
//
// It owns the defaults, the texts of usage and help, and the version. It must never start
// or signal anything itself: package supervisor does for a worker, and package inspect for
// a verb.
package cli

import (
	"errors"
	"io"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"drainit/internal/inspect"
	"drainit/internal/logx"
	"drainit/internal/sigqueue"
	"drainit/supervisor"
)

// Run is main with its surroundings as arguments. It runs a verb, prints what was asked
// for, or runs the worker to its end, and returns how drainit is to end. It must be called
// on the locked main thread, as supervisor.Run must.
func Run(args, environ []string, stdout, stderr io.Writer) supervisor.Outcome {
	if IsVerb(args) {
		return supervisor.Outcome{Status: runVerb(args, stdout, stderr)}
	}
	queue := sigqueue.Open() // first: a stop signal may come at once
	o, err := parse(args, environ)
	more := ""
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return supervisor.Outcome{Status: show(help, stdout, stderr)}
	case err != nil:
	case o.version:
		return supervisor.Outcome{Status: show(version(), stdout, stderr)}
	case o.pause:
		if err = supervisor.Pause(queue); err == nil {
			return supervisor.Outcome{}
		}
	case len(o.config.Command) == 0:
		err, more = errors.New("there is no COMMAND to run"), usage
	}
	if err != nil {
		sigqueue.SurvivePipe()
		_ = logx.WriteTerminationLog(o.config.TerminationLog, err.Error()) // stderr has it all the same
		return supervisor.Outcome{Status: fail(err, more, stderr)}
	}
	log := logx.New(unix.Stderr, o.json, o.level)
	defer log.Close()
	return supervisor.Run(o.config, queue, log)
}

// IsVerb reports whether a command line asks a running drainit.
func IsVerb(args []string) bool { return len(args) > 0 && inspect.IsVerb(args[0]) }
