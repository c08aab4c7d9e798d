package cli

import (
	"fmt"
	"path/filepath"
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
	repeat bool     // the variable takes a list
	toggle bool     // the flag alone means true
	empty  bool     // an empty variable is a value
	values []string // of the flag, not checked
}

// settings are those of o, in the order in which they are set: the termination log first, as the
// error about any other goes there, and the grace period before the stop delay, which must be shorter.
func (o *options) settings() []setting {
	c := &o.config
	modes := []forward.Mode{forward.ModeAuto, forward.ModeGroup, forward.ModeWorker, forward.ModeNone}
	levels := []zapcore.Level{zapcore.ErrorLevel, zapcore.WarnLevel, zapcore.WarnLevel, zapcore.InfoLevel, zapcore.DebugLevel}
	return []setting{
		{name: "termination-log", empty: true, set: into(&c.TerminationLog, parseFile)},
		{name: "grace", short: "t", lasts: true, set: into(&c.Grace, endless("25s, 25 (seconds), 0 (kill at once) or infinity"))},
		{name: "stop-delay", lasts: true, set: into(&c.StopDelay, o.parseStopDelay)},
		{name: "stop-signal", repeat: true, set: onto(&c.StopSignals, parseStopSignal)},
		{name: "remap-exit", short: "e", repeat: true, set: onto(&c.RemapExit, number("exit status", 0, 255))},
		{name: "parent-death-signal", short: "p", set: into(&c.ParentDeathSignal, signals.Parse)},
		{name: "rewrite", short: "r", repeat: true, set: o.addRewrite},
		{name: "forward", set: into(&c.Mode, oneOf(modes, "auto", "group", "worker", "none"))},
		{name: "forking", toggle: true, set: into(&c.Forking, parseBool)},
		{name: "second-stop", set: into(&c.SecondStopIgnored, oneOf([]bool{false, true}, "force", "ignore"))},
		{name: "health-addr", set: into(&c.HealthAddr, health.ParseAddress)},
		{name: "ready-file", empty: true, set: into(&c.Ready.File, parseFile)},
		{name: "ready-port", set: into(&c.Ready.Port, number("port", 1, 65535))},
		{name: "log-format", set: into(&o.json, oneOf([]bool{o.json, true, false}, "auto", "json", "text"))},
		{name: "log-level", set: into(&o.level, oneOf(levels, "error", "warn", "warning", "info", "debug"))},
	}
}

// prefix begins the name of each environment variable of drainit's own.
const prefix = "DRAINIT_"

// variable is the name of the setting's environment variable.
func (s setting) variable() string {
	return prefix + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
}

// find returns the values in the environment, and the variable that has them, "" for none.
func (s setting) find(environ []string) (values []string, variable string) {
	value, set := lookup(environ, s.variable())
	switch {
	case !set || value == "" && !s.empty:
		return nil, ""
	case !s.repeat:
		return []string{value}, s.variable()
	}
	for v := range strings.SplitSeq(value, ",") {
		values = append(values, strings.TrimSpace(v))
	}
	return values, s.variable()
}

// meant are the settings that users mean by names of other programs, or by what the setting does. A start that has no
// such variable does not pay for them.
func meant() map[string]string {
	return map[string]string{
		"GRACE_PERIOD": "grace", "GRACE_SECONDS": "grace", "GRACE_TIME": "grace", "GRACEFUL_TIMEOUT": "grace", "TIMEOUT": "grace", "STOP_TIMEOUT": "grace",
		"KILL_TIMEOUT": "grace", "DRAIN_TIMEOUT": "grace", "SHUTDOWN_TIMEOUT": "grace", "TERMINATION_GRACE_PERIOD": "grace", "STOP_GRACE_PERIOD": "grace",
		"DELAY": "stop-delay", "PRESTOP": "stop-delay", "SLEEP": "stop-delay", "SIGNAL": "stop-signal", "STOPSIGNAL": "stop-signal", "KILL_SIGNAL": "stop-signal",
		"REMAP": "remap-exit", "REMAP_EXIT_CODE": "remap-exit", "EXIT_CODE": "remap-exit", "REWRITES": "rewrite", "SIGNAL_REWRITE": "rewrite",
		"GROUP": "forward", "MODE": "forward", "FORWARD_TO": "forward", "DAEMON": "forking", "DAEMONIZES": "forking", "FORK": "forking",
		"SECOND_TERM": "second-stop", "SECOND_SIGNAL": "second-stop", "FORCE": "second-stop", "HEALTH": "health-addr", "HEALTH_PORT": "health-addr",
		"HEALTH_ADDRESS": "health-addr", "ADDR": "health-addr", "READY": "ready-file", "READINESS_FILE": "ready-file", "READINESS_PORT": "ready-port",
		"LOG": "log-level", "LEVEL": "log-level", "LOGLEVEL": "log-level", "DEBUG": "log-level", "VERBOSE": "log-level", "FORMAT": "log-format", "JSON": "log-format",
		"TERMINATION_MESSAGE": "termination-log", "TERMINATION_LOG_PATH": "termination-log", "PDEATHSIG": "parent-death-signal",
	}
}

// ofService reports whether Kubernetes has made a variable of a service, such as one that is called drainit.
func ofService(name, value string) bool {
	made := func(part string) bool { return strings.Contains(name, part) }
	return made("_SERVICE_HOST") || made("_SERVICE_PORT") || made("_PORT_") || strings.HasSuffix(name, "_PORT") && strings.Contains(value, "://")
}

// isSetting reports whether a variable is one of these settings.
func isSetting(variable string, all []setting) bool {
	return strings.HasPrefix(variable, prefix) && slices.ContainsFunc(all, func(s setting) bool { return s.variable() == variable })
}

// unknown says which variables of drainit's prefix set nothing, and which ones were probably meant.
func unknown(environ []string, all []setting) (doubts []string) {
	var others []string
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		rest, ours := strings.CutPrefix(name, prefix)
		if !ours || isSetting(name, all) || ofService(name, value) {
			continue
		}
		if to, ok := meant()[strings.ToUpper(rest)]; ok {
			doubts = append(doubts, name+" is no setting of drainit's: write "+setting{name: to}.variable())
		} else {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		var names []string
		for _, s := range all {
			names = append(names, s.variable())
		}
		doubts = append(doubts, strings.Join(others, ", ")+": no setting of drainit's, which are "+strings.Join(names, ", "))
	}
	return doubts
}

// lookup returns the value of a variable. Of several with one name the first counts, as for getenv(3).
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

// oneOf returns a parser that reads words[i], in either case, as values[i].
func oneOf[T any](values []T, words ...string) func(string) (T, error) {
	return func(value string) (v T, err error) {
		for i, word := range words {
			if strings.EqualFold(value, word) {
				return values[i], nil
			}
		}
		last := len(words) - 1
		return v, fmt.Errorf("invalid value %q: want %s or %s", value, strings.Join(words[:last], ", "), words[last])
	}
}

// longest is the longest duration but Forever: a longer one was probably meant in milliseconds.
const longest = 7 * 24 * time.Hour

// endless returns a parser of durations that also takes "infinity", for machine.Forever.
func endless(want string) func(string) (time.Duration, error) {
	return func(value string) (time.Duration, error) {
		if strings.EqualFold(value, "infinity") || strings.EqualFold(value, "inf") {
			return machine.Forever, nil
		}
		return parseDuration(value, want)
	}
}

// parseDelay reads a duration that can't be infinite.
func parseDelay(s string) (time.Duration, error) { return parseDuration(s, "5s or 5 (seconds)") }

// parseDuration reads "25s", "1m30s" (time.ParseDuration) in either case or whole seconds,
// from 0 to a week. The error ends with the forms wanted.
func parseDuration(s, want string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.ToLower(s))
	if n, nerr := strconv.ParseUint(s, 10, 64); nerr == nil {
		d, err = time.Duration(min(n, uint64(longest/time.Second)+1))*time.Second, nil
	}
	if err != nil || d < 0 {
		return 0, fmt.Errorf("invalid duration %q: want %s", s, want)
	}
	if d > longest {
		return 0, fmt.Errorf("%q is more than a week (milliseconds meant?): want %s", s, want)
	}
	return d, nil
}

// milliseconds asks whether a number without a unit, of more than an hour, was meant as milliseconds; "" of any other
// value.
func milliseconds(value string) string {
	n, err := strconv.Atoi(value)
	if read := time.Duration(n) * time.Second; err == nil && read > time.Hour {
		return fmt.Sprintf(" is read as seconds, %v: if milliseconds were meant, write %v", read, time.Duration(n)*time.Millisecond)
	}
	return ""
}

func parseFile(name string) (string, error) {
	if abs, err := filepath.Abs(name); err == nil && name != "" { // drainit will be in another directory
		name = abs
	}
	return name, nil
}

func (o *options) parseStopDelay(value string) (time.Duration, error) {
	d, err := parseDelay(value)
	if err == nil && d > 0 && d >= o.config.Grace {
		err = fmt.Errorf("%v is not shorter than the grace period of %v: the worker would never be signalled", d, o.config.Grace)
	}
	return d, err
}

func parseStopSignal(value string) (unix.Signal, error) {
	sig, err := signals.Parse(value)
	if err == nil && (!signals.Forwardable(sig) || sig == unix.SIGTSTP || sig == unix.SIGCONT) {
		err = fmt.Errorf("%s can't begin the stop: drainit can't see it or has another use for it", signals.Name(sig))
	}
	return sig, err
}

// number returns a parser of whole numbers; what names one.
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
	if err == nil && signals.Forwardable(from) { // the others are dropped anyway
		o.config.Rewrites[from] = to
	}
	return err
}

func parseBool(value string) (bool, error) {
	on, err := strconv.ParseBool(value)
	if err != nil {
		err = fmt.Errorf("invalid value %q: want 1, 0, true or false", value)
	}
	return on, err
}
