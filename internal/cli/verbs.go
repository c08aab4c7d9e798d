package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"drainit/internal/inspect"
)

// runVerb runs the verb that args begin with and returns the exit status.
func runVerb(args []string, stdout, stderr io.Writer) int {
	r, err := parseVerb(args, os.Getpid())
	if errors.Is(err, pflag.ErrHelp) {
		return show(help, stdout, stderr)
	}
	if err != nil {
		return fail(err, stderr)
	}
	return inspect.Run(r, stdout, func(line error) { fail(line, stderr) }) // with a status of its own
}

// parseVerb reads the verb that args begin with, and its flags. pid is drainit's own: as
// PID 1 it has no other to ask. The error is pflag.ErrHelp, or one line that names the
// verb and says how to run a command of that name.
func parseVerb(args []string, pid int) (inspect.Request, error) {
	r := inspect.Request{Verb: args[0]}
	fs := verbFlags(&r)
	err := fs.Parse(args[1:])
	if errors.Is(err, pflag.ErrHelp) {
		return r, err
	}
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("unexpected %q", fs.Arg(0))
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w; a command of that name is run by: drainit -- %s", r.Verb, err, r.Verb)
	}
	if pid == 1 {
		return r, fmt.Errorf("%s asks a drainit that runs already, and this one is PID 1; a command of that name is run by: drainit -- %s", r.Verb, r.Verb)
	}
	return r, nil
}

// verbFlags returns the flags that the request's verb has, which set its fields.
func verbFlags(r *inspect.Request) *pflag.FlagSet {
	fs := newFlagSet("drainit " + r.Verb)
	fs.Var((*pidValue)(&r.PID), "pid", "")
	switch r.Verb {
	case inspect.VerbStatus:
		addToggle(fs, &r.Ready, "ready", "")
		addToggle(fs, &r.JSON, "json", "")
	case inspect.VerbQuiet:
		fs.Var((*delay)(&r.Sleep), "sleep", "")
	case inspect.VerbStop:
		addToggle(fs, &r.Force, "force", "")
		addToggle(fs, &r.Wait, "wait", "")
	}
	return fs
}
