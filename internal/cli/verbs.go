package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"drainit/internal/inspect"
	"drainit/internal/proc"
	"drainit/internal/rehearse"
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
	say := func(line error) { fail(line, "", stderr) } // the status is another
	return inspect.Run(r, stdout, say, configOf)
}

// configOf returns the settings of a drainit, which it reads from its command line and its environment. If
// the environment can't be read, it returns what the command line says, with an error. So it does if another
// program runs that drainit: the command line may be that of an emulator.
func configOf(pid int) (supervisor.Config, error) {
	args, _ := proc.ReadWhole(pid, "cmdline")
	environ, failed := proc.ReadWhole(pid, "environ")
	if proc.IsEmulated() || new(proc.Reader).RunsAnother(pid) {
		failed = errors.New("another program runs it, such as an emulator or another version")
	}
	words := strings.Split(strings.TrimSuffix(args, "\x00"), "\x00")
	o, err := parse(words[1:], strings.Split(environ, "\x00"))
	return o.Config, cmp.Or(failed, err)
}

// verbPlan is the verb that runs a worker, unlike the others. It has drainit's flags, and its own.
const verbPlan = "plan"

func addPlan(fs flagSet) *rehearse.Flags {
	r := &rehearse.Flags{Within: 5 * time.Minute}
	fs.toggle(&r.JSON, "json", "")
	fs.delay(&r.Within, "within")
	fs.StringVar(&r.During, "during", "", "")
	fs.StringVar(&r.Check, "check", "", "")
	return r
}

// parseVerb reads the verb that args begin with, and its flags. pid is that of the calling process, which as
// PID 1 has no other drainit to ask. The error is pflag.ErrHelp, or one line that also says how to run a
// command of that name.
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
		const words = "this drainit has just started as PID 1, and a subcommand asks one that runs already"
		err = errors.New(words)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w; a command of that name is run by: drainit -- %s", r.Verb, err, r.Verb)
	}
	return r, err
}

// verbFlags returns the flags of a request's verb. They set the fields of the request.
func verbFlags(r *inspect.Request) flagSet {
	fs := newFlagSet("drainit " + r.Verb)
	fs.Func("pid", "", into(&r.PID, parsePID))
	switch r.Verb {
	case inspect.VerbStatus:
		fs.toggle(&r.Ready, "ready", "")
		fs.toggle(&r.JSON, "json", "")
		fs.toggle(&r.Plan, "plan", "")
	case inspect.VerbQuiet:
		fs.delay(&r.Sleep, "sleep")
	case inspect.VerbStop:
		fs.toggle(&r.Force, "force", "")
		fs.toggle(&r.Wait, "wait", "")
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
