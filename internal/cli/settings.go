package cli

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/health"
	"drainit/internal/signals"
	"drainit/supervisor"
)

// setting is what a flag with a value, or its environment variable, sets.
type setting struct {
	name   string
	short  string
	repeat bool // the variable takes a list
	toggle bool // the flag alone means true
	empty  bool // an empty variable is a value
	set    func(o *options, value string) error
	unset  func(o *options, environ []string) error // where neither is given; may be nil
}

// settings has the termination log first: what is wrong with another setting is
// written there.
var settings = [...]setting{
	{name: "termination-log", empty: true, set: setTerminationLog},
	{name: "grace", short: "t", set: setGrace, unset: setGraceByWorker},
	{name: "stop-delay", set: setStopDelay},
	{name: "stop-signal", repeat: true, set: addStopSignal},
	{name: "remap-exit", short: "e", repeat: true, set: addRemapExit},
	{name: "parent-death-signal", short: "p", set: setParentDeathSignal},
	{name: "rewrite", short: "r", repeat: true, set: addRewrite},
	{name: "forward", set: setForward},
	{name: "forking", toggle: true, set: setForking},
	{name: "second-stop", set: setSecondStop},
	{name: "health-addr", set: setHealthAddr},
	{name: "log-format", set: setLogFormat},
	{name: "log-level", set: setLogLevel},
}

// flag is the flag as an error names it.
func (s setting) flag() string { return "--" + s.name }

// prefix begins the names of drainit's variables.
const prefix = "DRAINIT_"

// variable is the name of the setting's environment variable.
func (s setting) variable() string {
	return prefix + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
}

// split returns the values in the environment variable, if it is set.
func (s setting) split(value string, ok bool) []string {
	if !ok || value == "" && !s.empty {
		return nil
	}
	if !s.repeat {
		return []string{value}
	}
	values := strings.Split(value, ",")
	for i, v := range values {
		values[i] = strings.TrimSpace(v)
	}
	return values
}

func setTerminationLog(o *options, value string) (err error) {
	if value != "" { // drainit will be in another directory by then
		value, err = filepath.Abs(value)
	}
	o.config.TerminationLog = value
	return err
}

func setGrace(o *options, value string) (err error) {
	o.config.Grace, err = parseGrace(value)
	return err
}

func setStopDelay(o *options, value string) (err error) {
	o.config.StopDelay, err = parseDelay(value)
	return err
}

func addStopSignal(o *options, value string) error {
	sig, err := signals.Parse(value)
	if err != nil {
		return err
	}
	if !signals.Forwardable(sig) || sig == unix.SIGTSTP || sig == unix.SIGCONT {
		return fmt.Errorf("%s can't begin the stop: drainit can't see it or has another use for it", signals.Name(sig))
	}
	o.config.StopSignals = append(o.config.StopSignals, sig)
	return nil
}

func addRemapExit(o *options, value string) error {
	code, err := strconv.ParseUint(value, 10, 8)
	if err != nil {
		return fmt.Errorf("invalid exit status %q: want a number from 0 to 255", value)
	}
	o.config.RemapExit = append(o.config.RemapExit, int(code))
	return nil
}

func setParentDeathSignal(o *options, value string) (err error) {
	o.config.ParentDeathSignal, err = signals.Parse(value)
	return err
}

func addRewrite(o *options, value string) error {
	from, to, err := signals.ParseRewrite(value)
	if err == nil && signals.Forwardable(from) { // the others are never passed on
		o.config.Rewrites[from] = to
	}
	return err
}

func setForward(o *options, value string) (err error) {
	o.config.Mode, err = forward.ParseMode(strings.ToLower(value))
	if err != nil {
		_, err = forward.ParseMode(value) // which names it as it was given
	}
	return err
}

func setForking(o *options, value string) error {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return fmt.Errorf("invalid value %q: want 1, 0, true or false", value)
	}
	o.config.Forking = on
	return nil
}

func setSecondStop(o *options, value string) error {
	switch what := strings.ToLower(value); what {
	case "force", "ignore":
		o.config.SecondStopIgnored = what == "ignore"
		return nil
	}
	return fmt.Errorf("invalid value %q: want force or ignore", value)
}

func setHealthAddr(o *options, value string) (err error) {
	o.config.HealthAddr, err = health.ParseAddress(value)
	return err
}

func setLogFormat(o *options, value string) error {
	switch format := strings.ToLower(value); format {
	case "auto":
	case "json", "text":
		o.json = format == "json"
	default:
		return fmt.Errorf("invalid value %q: want auto, json or text", value)
	}
	return nil
}

func setLogLevel(o *options, value string) error {
	switch level := strings.ToLower(value); level {
	case "error", "warn", "info", "debug":
		return o.level.Set(level)
	case "warning":
		return o.level.Set("warn")
	}
	return fmt.Errorf("invalid value %q: want error, warn, info or debug", value)
}

// setGraceByWorker takes the grace period that the worker reads itself, and 5 s more, in
// which the worker must still give its jobs back (section 5.3 of the OJS specification).
func setGraceByWorker(o *options, environ []string) error {
	for _, name := range []string{"OJS_SHUTDOWN_GRACE_PERIOD", "OJS_GRACE_PERIOD", "OJS_SHUTDOWN_TIMEOUT"} {
		value, _ := lookupEnv(environ, name)
		if value == "" {
			continue
		}
		if err := setGrace(o, value); err != nil {
			return fmt.Errorf("%s: %w; or give --grace", name, err)
		}
		if o.config.Grace != supervisor.Forever {
			o.config.Grace += 5 * time.Second
		}
		return nil
	}
	return nil
}
