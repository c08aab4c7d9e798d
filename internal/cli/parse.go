package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/machine"
	"drainit/internal/rehearse"
	"drainit/internal/signals"
	"drainit/supervisor"
)

// options are the command line and the environment, checked.
type options struct {
	supervisor.Config
	json    bool
	level   zapcore.Level
	version bool
	pause   bool            // --pause: no worker is run, as by a pod's pause
	install string          // --install: a folder; no worker is run
	plan    *rehearse.Flags // nil: the worker is run for good
}

// defaults returns the options if nothing is given. Then the platform probably has its default, too, and
// Kubernetes kills after 30 s.
func defaults() *options {
	_, noTerminal := unix.IoctlGetTermios(unix.Stderr, unix.TCGETS) // isatty(3)
	return &options{json: noTerminal != nil, Config: supervisor.Config{
		Grace: machine.DefaultGrace, Limit: 30 * time.Second,
		Rewrites: signals.Rewrites{},
	}}
}

// doubt notes what is to be logged about a setting. given notes which flag or variable has set one.
func (o *options) doubt(text string) { o.Doubts = append(o.Doubts, text) }
func (o *options) given(text string) { o.Given = append(o.Given, text) }

// flagSet is a pflag set. drainit reads the values of flags by its own functions, as it does those of
// environment variables.
type flagSet struct{ *pflag.FlagSet }

func newFlagSet(name string) flagSet {
	fs := flagSet{pflag.NewFlagSet(name, pflag.ContinueOnError)}
	fs.SetOutput(io.Discard)
	return fs
}

func (fs flagSet) toggle(to *bool, name, short string) {
	fs.BoolFuncP(name, short, "", into(to, parseBool))
}

func (fs flagSet) delay(to *time.Duration, name string) { fs.Func(name, "", into(to, parseDelay)) }

// flags are the command line as it was given, not checked.
type flags struct {
	flagSet
	settings []setting
}

// newFlags returns all flags. The flag of a setting keeps its values until apply reads them. Any other flag
// sets its field, of o or of the returned flags, at once.
func newFlags(o *options) *flags {
	f := &flags{flagSet: newFlagSet("drainit"), settings: o.settings()}
	f.SetInterspersed(false) // what follows COMMAND is COMMAND's
	for i := range f.settings {
		s := &f.settings[i]
		f.FuncP(s.name, s.short, "", func(value string) error { // pflag's own list would add 400 kB
			s.values = append(s.values, value)
			return nil
		})
		if s.toggle {
			f.Lookup(s.name).NoOptDefVal = "true"
		}
	}
	f.alias("group", "g", "forward", "group")
	f.alias("single-child", "c", "forward", "worker")
	f.alias("verbose", "v", "log-level", "debug")
	f.toggle(new(bool), "subreaper", "s") // for tini's sake, as the next
	f.toggle(new(bool), "warn-reaped", "w")
	f.toggle(&o.pause, "pause", "P")
	f.toggle(&o.version, "version", "V")
	f.Func("install", "", into(&o.install, parseFolder))
	return f
}

// alias adds a flag that sets another to a value. Of several flags for one setting the last counts.
func (f *flags) alias(name, short, other, value string) {
	f.BoolFuncP(name, short, "", func(given string) error {
		on, err := parseBool(given)
		if on {
			err = f.Set(other, value)
		}
		return err
	})
}

// parse reads the flags, and the environment where a flag is not given. The error is pflag.ErrHelp,
// or one line that names the flag or variable, the value and what it takes. With an error it returns
// the options as far as they were read.
func parse(args, environ []string) (*options, error) {
	o := defaults()
	f := newFlags(o)
	if len(args) > 0 && args[0] == verbPlan {
		o.plan, args = addPlan(f.flagSet), args[1:]
	}
	err := f.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return o, err
	case err != nil:
		hint := "drainit --help lists the flags, and COMMAND's own come after COMMAND"
		ends := func(arg string) bool { return arg == "--" || isVerb(arg) }
		if at := slices.IndexFunc(args, ends); at >= 0 && args[at] != "--" {
			hint = "a subcommand must be the first argument: drainit " + args[at]
		}
		return o, fmt.Errorf("%w; %s", err, hint)
	case o.version:
		return o, nil
	}
	if err := o.apply(f, environ); err != nil {
		return o, err
	}
	o.Command, o.Env = f.Args(), workerEnv(environ)
	switch {
	case o.pause && o.plan != nil:
		return o, errors.New("--pause runs no COMMAND, and plan rehearses the stop of one")
	case o.install != "" && (o.plan != nil || o.pause || f.NArg() > 0):
		return o, errors.New("--install runs no COMMAND: give a folder, and nothing after it")
	case o.pause && f.NArg() > 0:
		return o, fmt.Errorf("--pause runs no COMMAND, and was given %q", f.Arg(0))
	}
	return o, nil
}

// apply sets each setting from its flags, or else from the environment.
func (o *options) apply(f *flags, environ []string) error {
	own := findLimit(environ)
	for _, s := range f.settings {
		values, source := s.find(environ)
		if err := o.give(s, values, source); err != nil {
			return err
		}
		switch given := len(values) > 0; {
		case s.name == "grace" && given:
			o.Limit = 0 // --grace is written for the platform's limit
		case s.name == "grace":
			o.adopt(own)
		case s.name == "forward" && given:
			o.Unsent = ""
			if o.Mode == forward.ModeNone {
				o.Unsent = source + "=none"
			}
		}
	}
	o.Warning = o.warning(own)
	o.doubtUnknown(environ, f.settings)
	o.dropStopDelay()
	return nil
}

func (o *options) dropStopDelay() {
	if o.Unsent != "" && o.StopDelay > 0 {
		const words = "a stop delay of %v has no effect, since the platform signals each process itself (%s)"
		o.doubt(fmt.Sprintf(words, o.StopDelay, o.Unsent))
		o.StopDelay = 0
	}
}

// give sets a setting to the values of a flag or a variable. source is the name of that.
func (o *options) give(s setting, values []string, source string) error {
	for _, v := range values {
		if err := s.set(v); err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
		o.given(source + "=" + v)
		if m := milliseconds(v); s.lasts && m != "" {
			o.doubt(source + "=" + v + m)
		}
	}
	return nil
}

// workerEnv returns the environment without drainit's own variables, which are not meant for a drainit below
// this one. Other variables that begin with DRAINIT_ are Kubernetes' or the worker's, and stay. UNDER_DRAINIT
// is added: by it an SDK that warns if it is not PID 1 can tell that it need not.
func workerEnv(environ []string) []string {
	own := append(variables(new(options).settings()), "UNDER_DRAINIT")
	given := slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(own, name)
	})
	return append(given, "UNDER_DRAINIT=1")
}
