package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/pflag"

	"drainit/internal/inspect"
)

func runVerb(args []string, stdout, stderr io.Writer) int {
	r, err := parseVerb(args, os.Getpid())
	if errors.Is(err, pflag.ErrHelp) {
		return show(help, stdout, stderr)
	}
	if err != nil {
		return fail(err, "", stderr)
	}
	return inspect.Run(r, stdout, func(line error) { fail(line, "", stderr) }) // with a status of its own
}

// parseVerb reads the verb that args begin with, and its flags. pid is drainit's own: as PID 1 it
// has no other to ask. The error is pflag.ErrHelp, or one line that also says how to run a command
// of that name.
func parseVerb(args []string, pid int) (inspect.Request, error) {
	r := inspect.Request{Verb: args[0]}
	fs := verbFlags(&r)
	err := fs.Parse(args[1:])
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return r, err
	case err == nil && fs.NArg() > 0:
		err = fmt.Errorf("unexpected %q", fs.Arg(0))
	case err == nil && pid == 1:
		err = errors.New("this drainit is PID 1, and a verb asks one that runs already")
	}
	if err != nil {
		err = fmt.Errorf("%s: %w; a command of that name is run by: drainit -- %s", r.Verb, err, r.Verb)
	}
	return r, err
}

// verbFlags returns the flags of the request's verb, which set its fields.
func verbFlags(r *inspect.Request) *pflag.FlagSet {
	fs := newFlagSet("drainit " + r.Verb)
	fs.Func("pid", "", into(&r.PID, parsePID))
	switch r.Verb {
	case inspect.VerbStatus:
		fs.BoolFunc("ready", "", into(&r.Ready, parseBool))
		fs.BoolFunc("json", "", into(&r.JSON, parseBool))
	case inspect.VerbQuiet:
		fs.Func("sleep", "", into(&r.Sleep, parseDelay))
	case inspect.VerbStop:
		fs.BoolFunc("force", "", into(&r.Force, parseBool))
		fs.BoolFunc("wait", "", into(&r.Wait, parseBool))
	}
	return fs
}

func parsePID(value string) (int, error) {
	pid, err := strconv.ParseUint(value, 10, 31)
	if err != nil || pid == 0 {
		return 0, errors.New("want a pid")
	}
	return int(pid), nil
}
