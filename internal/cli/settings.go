package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/health"
	"drainit/internal/machine"
	"drainit/internal/signals"
)

// setting is what a flag with a value, or its environment variable, sets.
type setting struct {
	name   string
	short  string
	set    func(value string) error
	lasts  bool     // it is a duration
	repeat bool     // the flag may be given again, and the variable takes a list
	toggle bool     // the flag alone means true
	values []string // of the flag, not checked
}

// settings returns the settings of o, in the order in which they are set. The grace period comes before the
// stop delay, which must be shorter.
func (o *options) settings() []setting {
	mode := oneOf("auto handlers group worker none",
		forward.ModeAuto, forward.ModeHandlers, forward.ModeGroup, forward.ModeWorker, forward.ModeNone)
	level := oneOf("error warn warning info debug",
		zapcore.ErrorLevel, zapcore.WarnLevel, zapcore.WarnLevel, zapcore.InfoLevel, zapcore.DebugLevel)
	return []setting{
		{name: "grace", short: "t", lasts: true,
			set: into(&o.Grace, duration("25s, 25 (seconds), 0 (kill at once) or infinity"))},
		{name: "stop-delay", lasts: true, set: into(&o.StopDelay, o.parseStopDelay)},
		{name: "stop-signal", repeat: true, set: onto(&o.StopSignals, parseStopSignal)},
		{name: "remap-exit", short: "e", repeat: true,
			set: onto(&o.RemapExit, number("exit status", 0, 255))},
		{name: "parent-death-signal", short: "p", set: into(&o.ParentDeathSignal, signals.Parse)},
		{name: "rewrite", short: "r", repeat: true, set: o.addRewrite},
		{name: "forward", set: into(&o.Mode, mode)},
		{name: "forking", toggle: true, set: into(&o.Forking, parseBool)},
		{name: "second-stop", set: into(&o.SecondStopIgnored, oneOf("force ignore", false, true))},
		{name: "health-addr", set: into(&o.HealthAddr, health.ParseAddress)},
		{name: "ready-port", set: into(&o.ReadyPort, number("port", 1, 65535))},
		{name: "log-format", set: into(&o.json, oneOf("auto json text", o.json, true, false))},
		{name: "log-level", set: into(&o.level, level)},
	}
}

// prefix begins the name of each environment variable of drainit's own.
const prefix = "DRAINIT_"

// variable is the name of the setting's environment variable.
func (s setting) variable() string {
	return prefix + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
}

// find returns the values of the flag or, if the flag was not given, of the environment variable. source is
// the name of the one that was used, "" if neither is set. An empty variable counts as not set.
func (s setting) find(environ []string) (values []string, source string) {
	value, set := lookup(environ, s.variable())
	switch {
	case len(s.values) > 0:
		return s.values, "--" + s.name
	case !set || value == "":
		return nil, ""
	case !s.repeat:
		return []string{value}, s.variable()
	}
	for v := range strings.SplitSeq(value, ",") {
		values = append(values, strings.TrimSpace(v))
	}
	return values, s.variable()
}

// ofService reports whether Kubernetes has made a variable for a service, such as one that is called drainit.
func ofService(name, value string) bool {
	made := func(part string) bool { return strings.Contains(name, part) }
	return made("_SERVICE_HOST") || made("_SERVICE_PORT") || made("_PORT_") ||
		strings.HasSuffix(name, "_PORT") && strings.Contains(value, "://")
}

// variables returns the names of the variables of these settings.
func variables(all []setting) (names []string) {
	for _, s := range all {
		names = append(names, s.variable())
	}
	return names
}

// doubtUnknown notes which variables of drainit's prefix set nothing.
func (o *options) doubtUnknown(environ []string, all []setting) {
	var others []string
	names := variables(all)
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, prefix) && !slices.Contains(names, name) && !ofService(name, value) {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		list := strings.Join(names, ", ")
		o.doubt(strings.Join(others, ", ") + ": no setting of drainit's, which are " + list)
	}
}

// lookup returns the value of a variable, and whether it is set. Of several with one name the first counts,
// as for getenv(3).
func lookup(environ []string, variable string) (value string, set bool) {
	at := slices.IndexFunc(environ, func(v string) bool { return strings.HasPrefix(v, variable+"=") })
	if at < 0 {
		return "", false
	}
	return environ[at][len(variable+"="):], true
}

// into returns a function that parses a value and sets a variable to it.
func into[T any](to *T, parse func(string) (T, error)) func(string) error {
	return func(value string) (err error) {
		*to, err = parse(value)
		return err
	}
}

// onto returns a function that parses a value and appends it.
func onto[T any](to *[]T, parse func(string) (T, error)) func(string) error {
	return func(value string) error {
		v, err := parse(value)
		*to = append(*to, v)
		return err
	}
}

// oneOf returns a parser that reads each of these words, in either case, as the value in its place.
func oneOf[T any](list string, values ...T) func(string) (T, error) {
	return func(value string) (v T, err error) {
		words := strings.Fields(list)
		for i, word := range words {
			if strings.EqualFold(value, word) {
				return values[i], nil
			}
		}
		last := len(words) - 1
		others := strings.Join(words[:last], ", ")
		return v, fmt.Errorf("invalid value %q: want %s or %s", value, others, words[last])
	}
}

// longest is the longest duration but Forever: a longer one was probably meant in milliseconds.
const longest = 7 * 24 * time.Hour

// parseDelay reads a duration that can't be infinite.
func parseDelay(value string) (time.Duration, error) { return duration("5s or 5 (seconds)")(value) }

// duration returns a parser of "25s" or "1m30s" (time.ParseDuration), in either case, or of whole seconds,
// from 0 to a week. want says which forms are wanted, and the error ends with it. "infinity" is read as
// machine.Forever if want has it.
func duration(want string) func(string) (time.Duration, error) {
	return func(value string) (time.Duration, error) {
		s := strings.ToLower(value)
		if (s == "infinity" || s == "inf") && strings.Contains(want, "infinity") {
			return machine.Forever, nil
		}
		d, err := time.ParseDuration(s)
		if n, nerr := strconv.ParseUint(s, 10, 64); nerr == nil {
			d, err = time.Duration(min(n, uint64(longest/time.Second)+1))*time.Second, nil
		}
		if err != nil || d < 0 {
			return 0, fmt.Errorf("invalid duration %q: want %s", value, want)
		}
		if d > longest {
			return 0, fmt.Errorf("%q is more than a week (milliseconds meant?): want %s", value, want)
		}
		return d, nil
	}
}

// CheckGrace returns why a value can't be that of --grace, nil if it can.
func CheckGrace(value string) error { return defaults().settings()[0].set(value) }

// milliseconds returns the end of a line that asks whether a number was meant as milliseconds. It returns ""
// unless the value is a number without a unit that is more than an hour in seconds.
func milliseconds(value string) string {
	n, err := strconv.Atoi(value)
	if read := time.Duration(n) * time.Second; err == nil && read > time.Hour {
		const words = " is read as seconds, %v: if milliseconds were meant, write %v"
		return fmt.Sprintf(words, read, read/1000)
	}
	return ""
}

func (o *options) parseStopDelay(value string) (time.Duration, error) {
	d, err := parseDelay(value)
	if err == nil && d > 0 && d >= o.Grace {
		const words = "%v is not shorter than the grace period of %v: the worker would never be signalled"
		err = fmt.Errorf(words, d, o.Grace)
	}
	return d, err
}

func parseStopSignal(value string) (unix.Signal, error) {
	sig, err := signals.Parse(value)
	if err == nil && (!signals.Forwardable(sig) || sig == unix.SIGTSTP || sig == unix.SIGCONT) {
		const words = "%s can't begin the stop: drainit can't see it or has another use for it"
		err = fmt.Errorf(words, signals.Name(sig))
	}
	return sig, err
}

// number returns a parser of whole numbers from least to most. what says in its error what the number is.
func number(what string, least, most uint64) func(string) (int, error) {
	return func(value string) (int, error) {
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("invalid %s %q: want a number from %d to %d", what, value, least, most)
		}
		return int(n), nil
	}
}

func (o *options) addRewrite(value string) error {
	from, to, err := signals.ParseRewrite(value)
	rule, name, drops := "--rewrite "+value, signals.Name(from), to == signals.Drop
	switch {
	case err != nil:
	case signals.Forwardable(from) || signals.Rewritable(from) && !drops: // the others are dropped anyway
		o.Rewrites[from] = to
		if to == unix.SIGKILL {
			o.doubt(rule + ": " + name + " kills the worker at once, with its work")
		}
	case !drops:
		o.doubt(rule + " has no effect: drainit can't see " + name + ", or never passes it on")
	}
	return err
}

func parseFolder(value string) (string, error) {
	if value == "" {
		return "", errors.New("want a folder, such as /opt/drainit")
	}
	return value, nil
}

func parseBool(value string) (bool, error) {
	on, err := strconv.ParseBool(value)
	if err != nil {
		err = fmt.Errorf("invalid value %q: want 1, 0, true or false", value)
	}
	return on, err
}
