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
	"drainit/internal/inspect"
	"drainit/internal/logx"
	"drainit/internal/signals"
	"drainit/supervisor"
)

// options are the command line and the environment, checked.
type options struct {
	config  supervisor.Config
	json    bool
	level   zapcore.Level
	ownLog  bool // --termination-log is given
	version bool
	pause   bool               // no worker, as a pod's first container
	plan    *inspect.Rehearsal // nil: the worker is run for good
}

// defaults are the options where nothing is given. Then the platform is probably at its default, too, and
// Kubernetes kills after 30 s.
func defaults() *options {
	_, noTerminal := unix.IoctlGetTermios(unix.Stderr, unix.TCGETS) // isatty(3)
	return &options{json: noTerminal != nil, config: supervisor.Config{
		Grace: 35 * time.Second, Limit: 30 * time.Second, Rewrites: signals.Rewrites{}, TerminationLog: logx.DefaultTerminationLog,
	}}
}

// flags are the command line as it was given, not checked.
type flags struct {
	*pflag.FlagSet
	settings               []setting
	group, single, verbose bool
}

// newFlags returns all flags. Those that are no setting set o.
func newFlags(o *options) *flags {
	f := &flags{FlagSet: newFlagSet("drainit"), settings: o.settings()}
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
	f.BoolFuncP("group", "g", "", into(&f.group, parseBool))
	f.BoolFuncP("single-child", "c", "", into(&f.single, parseBool))
	f.BoolFuncP("verbose", "v", "", into(&f.verbose, parseBool))
	f.BoolFuncP("subreaper", "s", "", into(new(bool), parseBool)) // for tini's sake
	f.BoolFuncP("warn-reaped", "w", "", into(&o.config.WarnReaped, parseBool))
	f.BoolFuncP("pause", "P", "", into(&o.pause, parseBool))
	f.BoolFuncP("version", "V", "", into(&o.version, parseBool))
	return f
}

func newFlagSet(name string) *pflag.FlagSet {
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return fs
}

// parse reads the flags, and the environment where a flag is not given. The error is pflag.ErrHelp,
// or one line that names the flag or variable, the value and what it takes. With an error it returns
// the options as far as they were read.
func parse(args, environ []string) (*options, error) {
	o := defaults()
	f := newFlags(o)
	if len(args) > 0 && args[0] == verbPlan {
		o.plan, args = &inspect.Rehearsal{Settle: time.Second}, args[1:]
		addPlanFlags(f.FlagSet, o.plan)
	}
	err := f.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return o, err
	case err != nil:
		_ = o.apply(f, environ) // for the termination log: this error is the first
		hint := "drainit --help lists the flags, and COMMAND's own come after COMMAND"
		if at := slices.IndexFunc(args, func(arg string) bool { return arg == "--" || IsVerb([]string{arg}) }); at >= 0 && args[at] != "--" {
			hint = "a subcommand must be the first argument: drainit " + args[at]
		}
		return o, fmt.Errorf("%w; %s", err, hint)
	case o.version:
		return o, nil
	}
	clash := f.group && f.single || f.Changed("forward") && (f.group || f.single)
	if err := o.apply(f, environ); err != nil {
		return o, err
	}
	o.config.Command, o.config.Env = f.Args(), workerEnv(environ)
	switch {
	case clash:
		return o, errors.New("-g, -c and --forward say which processes get a signal: give one of them")
	case o.pause && o.plan != nil:
		return o, errors.New("--pause runs no COMMAND, and plan rehearses the stop of one")
	case o.pause && f.NArg() > 0:
		return o, fmt.Errorf("--pause runs no COMMAND, and was given %q", f.Arg(0))
	}
	return o, nil
}

// apply sets each setting from its flags, or else from the environment.
func (o *options) apply(f *flags, environ []string) error {
	f.spellOut()
	own, heroku := findLimit(environ), o.adoptHeroku(environ)
	for _, s := range f.settings {
		values, source := s.values, "--"+s.name
		if len(values) == 0 {
			values, source = s.find(environ)
		}
		if err := o.give(s, values, source); err != nil {
			return err
		}
		given := len(values) > 0
		switch {
		case s.name == "termination-log":
			o.ownLog = len(s.values) > 0
		case s.name == "grace" && given:
			o.config.Limit = 0 // it was known when that was written
		case s.name == "grace":
			o.adopt(own)
		case s.name == "forward" && o.config.Mode == forward.ModeNone && given:
			o.config.Unsent = source + "=none"
		case s.name == "forward" && o.config.Mode == forward.ModeNone:
			o.config.Unsent = "Heroku, as DYNO says"
		}
	}
	if heroku {
		o.config.Limit = herokuLimit
	}
	o.config.Warning = o.warning(own)
	o.config.Doubts = append(o.config.Doubts, unknown(environ, f.settings)...)
	if o.config.Unsent != "" && o.config.StopDelay > 0 {
		o.dropStopDelay()
	}
	if o.config.WarnReaped {
		o.config.Given = append(o.config.Given, "--warn-reaped")
	}
	return nil
}

func (o *options) dropStopDelay() {
	c := &o.config
	c.Doubts = append(c.Doubts, fmt.Sprintf("a stop delay of %v has no effect, since the platform signals each process itself (%s)", c.StopDelay, c.Unsent))
	c.StopDelay = 0
}

// spellOut sets the settings that flags without a value of their own stand for.
func (f *flags) spellOut() {
	for _, short := range []struct {
		given          bool
		setting, value string
	}{{f.group, "forward", "group"}, {f.single, "forward", "worker"}, {f.verbose, "log-level", "debug"}} {
		if short.given {
			_ = f.Set(short.setting, short.value)
		}
	}
}

// give sets a setting to the values of a flag or a variable.
func (o *options) give(s setting, values []string, source string) error {
	for _, v := range values {
		if err := s.set(v); err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
		o.config.Given = append(o.config.Given, source+"="+v)
		if m := milliseconds(v); s.lasts && m != "" {
			o.config.Doubts = append(o.config.Doubts, source+"="+v+m)
		}
	}
	return nil
}

// workerEnv is the environment without drainit's own variables, which are not meant for a drainit
// below this one. Other variables that begin with DRAINIT_ are Kubernetes' or the worker's. One is
// added: an SDK that warns where it is not PID 1 need not do so under drainit.
func workerEnv(environ []string) []string {
	all := new(options).settings()
	given := slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return name == "UNDER_DRAINIT" || isSetting(name, all)
	})
	return append(given, "UNDER_DRAINIT=1")
}
