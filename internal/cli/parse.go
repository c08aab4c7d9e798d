package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/logx"
	"drainit/internal/signals"
	"drainit/supervisor"
)

// flags are the command line as it was given, not checked.
type flags struct {
	set                     *pflag.FlagSet
	given                   [len(settings)]texts // of the settings, in their order
	group, single, verbose  bool
	subreaper               bool // for tini's sake
	warnReaped, versionOnly bool
	pause                   bool
}

// newFlags returns the flags, which nothing is parsed into.
func newFlags() *flags {
	f := &flags{set: newFlagSet("drainit")}
	f.set.SetInterspersed(false) // what follows COMMAND is COMMAND's
	for i, s := range settings {
		flag := f.set.VarPF(&f.given[i], s.name, s.short, "")
		if s.toggle {
			flag.NoOptDefVal = "true"
		}
	}
	addToggle(f.set, &f.group, "group", "g")
	addToggle(f.set, &f.single, "single-child", "c")
	addToggle(f.set, &f.verbose, "verbose", "v")
	addToggle(f.set, &f.subreaper, "subreaper", "s")
	addToggle(f.set, &f.warnReaped, "warn-reaped", "w")
	addToggle(f.set, &f.pause, "pause", "P")
	addToggle(f.set, &f.versionOnly, "version", "V")
	return f
}

// parse reads the flags, and the environment where a flag is not given. The error is
// pflag.ErrHelp, or names the flag or variable, the value and what it takes, in one line;
// with it come the options as far as they were read.
func parse(args, environ []string) (*options, error) {
	f, o := newFlags(), &options{}
	err := f.set.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return o, err
	}
	if err != nil {
		_ = o.apply(f, environ) // for the termination log: this error is the first
		return o, fmt.Errorf("%w; drainit --help lists the flags, and COMMAND's own go behind it", err)
	}
	if f.versionOnly {
		o.version = true
		return o, nil
	}
	if err := o.apply(f, environ); err != nil {
		return o, err
	}
	if err := o.applyToggles(f); err != nil {
		return o, err
	}
	o.config.Command, o.pause = f.set.Args(), f.pause
	o.config.Env = workerEnv(environ)
	if f.pause && len(o.config.Command) > 0 {
		return o, fmt.Errorf("--pause runs no COMMAND, and was given %q", o.config.Command[0])
	}
	return o, nil
}

// apply sets each setting from its flag, its variable or its default.
func (o *options) apply(f *flags, environ []string) error {
	o.config.Grace = supervisor.DefaultGrace
	o.config.Rewrites = signals.Rewrites{}
	o.config.TerminationLog = logx.DefaultTerminationLog
	o.json = !isTerminal(unix.Stderr)
	sources := make(map[string]string)
	own := slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return !strings.HasPrefix(v, prefix) })
	for i, s := range settings {
		values, source := []string(f.given[i]), s.flag()
		if len(values) == 0 {
			source = s.variable()
			values = s.split(lookupEnv(own, source))
		}
		for _, v := range values {
			if err := s.set(o, v); err != nil {
				return fmt.Errorf("%s: %w", source, err)
			}
		}
		if len(values) == 0 && s.unset != nil {
			if err := s.unset(o, environ); err != nil {
				return err
			}
		}
		sources[s.name] = source
	}
	if c := o.config; c.StopDelay > 0 && c.StopDelay >= c.Grace {
		return fmt.Errorf("%s: %v is not shorter than the grace period of %v: the worker would never be signalled", sources["stop-delay"], c.StopDelay, c.Grace)
	}
	return nil
}

// applyToggles sets what the flags without a value say, which win over variables.
func (o *options) applyToggles(f *flags) error {
	switch {
	case f.group && f.single, f.set.Changed("forward") && (f.group || f.single):
		return errors.New("-g, -c and --forward say which processes get a signal: give one of them")
	case f.group:
		o.config.Mode = forward.ModeGroup
	case f.single:
		o.config.Mode = forward.ModeWorker
	}
	if f.verbose {
		o.level = zapcore.DebugLevel
	}
	o.config.WarnReaped = f.warnReaped
	return nil
}

// isTerminal reports whether a descriptor is a terminal, as isatty(3) does.
func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}

// workerEnv is the environment without drainit's own variables: a drainit below this one
// gets its own. Other variables that begin with DRAINIT_ are Kubernetes' or the worker's.
func workerEnv(environ []string) []string {
	var env []string
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if !isOwn(name) {
			env = append(env, v)
		}
	}
	return env
}

// isOwn reports whether a variable is one of drainit's settings.
func isOwn(name string) bool {
	return strings.HasPrefix(name, prefix) && slices.ContainsFunc(settings[:], func(s setting) bool { return s.variable() == name })
}
