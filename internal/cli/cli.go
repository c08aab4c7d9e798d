// Package cli is drainit's command line and environment: flags, variables, verbs, and the errors
// about them.
//
// It owns the defaults, the texts of usage and help, and the version. It must never start or
// signal anything itself.
package cli

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"drainit/internal/inspect"
	"drainit/internal/logx"
	"drainit/internal/ociruntime"
	"drainit/internal/rehearse"
	"drainit/internal/sigqueue"
	"drainit/internal/spawn"
	"drainit/supervisor"
)

// Run runs a verb, prints what was asked for, or runs the worker to its end, and returns how
// drainit is to end. It must be called on the locked main thread.
func Run(args, environ []string, stdout, stderr io.Writer) supervisor.Outcome {
	if len(args) > 0 && (args[0] == "help" || args[0] == "version") {
		args = []string{"--" + args[0]}
	}
	if len(args) > 0 && isVerb(args[0]) {
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
		return supervisor.Outcome{Status: show(version(debug.ReadBuildInfo()), stdout, stderr)}
	case o.install != "":
		if err = ociruntime.Install(o.install); err == nil {
			return supervisor.Outcome{}
		}
	case o.pause:
		if err = supervisor.Pause(queue); err == nil {
			return supervisor.Outcome{}
		}
	case len(o.Command) == 0:
		err, more = errors.New("there is no COMMAND to run"), usage
	}
	if err != nil {
		sigqueue.SurvivePipe()
		return supervisor.Outcome{Status: fail(err, more, stderr)}
	}
	if o.plan != nil {
		o.plan.Given, o.plan.LogJSON, o.plan.LogLevel = o.Given, o.json, o.level
		say := func(line error) { fail(line, "", stderr) }
		return supervisor.Outcome{Status: rehearse.Run(*o.plan, o.Config, queue, stdout, say)}
	}
	log := logx.New(unix.Stderr, o.json, o.level)
	defer log.Close()
	return supervisor.Run(o.Config, queue, log)
}

func isVerb(word string) bool { return slices.Contains(inspect.Verbs, word) }

// fail writes an error as one line, with more after it, and returns the exit status for it. It
// does not wait for a full stderr that no process reads: PID 1 must end all the same.
func fail(err error, more string, stderr io.Writer) int {
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = io.WriteString(stderr, "drainit: "+logx.Printable(err.Error())+"\n"+more)
	}()
	logx.AwaitWritten(written, unix.Stderr)
	return spawn.StatusFailed
}

// show writes a text that was asked for and returns the exit status.
func show(text string, stdout, stderr io.Writer) int {
	if _, err := io.WriteString(stdout, text); err != nil {
		return fail(err, "", stderr)
	}
	return 0
}

// version returns the line for --version. It ends as tini's does, since dockerd reads it if drainit is its
// docker-init.
func version(info *debug.BuildInfo, known bool) string {
	v, commit := "(unknown)", "unknown"
	if known {
		v = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) > 7 {
				commit = s.Value[:7]
			}
		}
	}
	return fmt.Sprintf("drainit %s %s - git.%s\n", v, runtime.Version(), commit)
}
