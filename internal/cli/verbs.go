package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"drainit/internal/inspect"
	"drainit/internal/proc"
	"drainit/supervisor"
)

func runVerb(args []string, stdout, stderr io.Writer) int {
	r, err := parseVerb(args, os.Getpid())
	if errors.Is(err, pflag.ErrHelp) {
		return show(help, stdout, stderr)
	}
	if err != nil {
		return fail(err, "", stderr)
	}
	return inspect.Run(r, stdout, func(line error) { fail(line, "", stderr) }, configOf) // with a status of its own
}

// configOf reads what a drainit was asked for. Without its environment it is what its command line says.
func configOf(pid int) (supervisor.Config, error) {
	args, _ := proc.ReadWhole(pid, "cmdline")
	environ, failed := proc.ReadWhole(pid, "environ")
	given := strings.Split(strings.TrimSuffix(args, "\x00"), "\x00")[1:]
	o, err := parse(given, strings.Split(environ, "\x00"))
	return o.config, cmp.Or(failed, err)
}

// verbPlan runs a worker, unlike the other verbs: it has drainit's flags, and its own.
const verbPlan = "plan"

func addPlanFlags(fs *pflag.FlagSet, r *inspect.Rehearsal) {
	fs.BoolFunc("json", "", into(&r.JSON, parseBool))
	fs.Func("settle", "", into(&r.Settle, parseDelay))
	fs.StringVar(&r.During, "during", "", "")
	fs.StringVar(&r.Check, "check", "", "")
	fs.BoolFunc("allow-uncertain", "", into(&r.AllowUncertain, parseBool))
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
		err = errors.New("this drainit has just started as PID 1, and a subcommand asks one that runs already")
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
		fs.BoolFunc("plan", "", into(&r.Plan, parseBool))
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
