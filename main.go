// Command drainit is the first process of a container: it runs one worker and
// sees it through quiet, drain and stop.
package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/internal/health"
	"drainit/internal/inspect"
	"drainit/internal/logx"
	"drainit/internal/signals"
	"drainit/supervisor"
)

const usage = `usage: drainit [flags] -- COMMAND [ARG...]
       drainit status [--ready] [--json]
       drainit quiet [--sleep DUR] | resume | stop [--force]
       drainit --help
`

const help = `drainit runs COMMAND as its worker and sees it, and all that it leaves behind,
through quiet, drain and stop. It is made to be PID 1 of a container.

` + usage + `
Stopping
  -t, --grace DUR           from the first stop signal to SIGKILL: 25s, 25 (seconds),
                            0 (kill at once) or infinity (default 30s)
      --stop-delay DUR      be quiet this long before the worker is told; inside the grace
      --stop-signal SIG     also begins the stop, besides TERM and INT; repeatable
  -e, --remap-exit CODE     report this exit status as 0; repeatable
      --forking             COMMAND daemonizes: run on until what it leaves is gone
  -p, --parent-death-signal SIG
                            sent to drainit when its own parent dies
Signals
  -r, --rewrite FROM:TO     deliver TO in place of FROM; FROM:0 drops it; repeatable
      --forward WHO         auto: the first that catches it, from the worker down (default)
                            group: the worker's process group; worker: the worker alone
  -g, --group               --forward group
  -c, --single-child        --forward worker
Log, on stderr
      --log-format FORMAT   json, text, or auto: text on a terminal (default)
      --log-level LEVEL     error, warn, info or debug (default info)
  -v, --verbose             --log-level debug
  -w, --warn-reaped         log each reaped orphan
Seen from outside
      --health-addr ADDR    serve /healthz and /readyz there, such as :8080 (default off)
      --termination-log FILE
                            why it was killed or did not start, if FILE exists and is empty
                            (default /dev/termination-log; empty turns it off)
Verbs, which ask the drainit of this container
  status                    the phase and the processes; 0 while the worker lives
      --ready               0 only while it is running, neither quiet nor stopping
      --json                for programs
  quiet                     sends TSTP, and returns when drainit is quiet
      --sleep DUR           returns so much later, for a preStop hook
  resume                    sends CONT
  stop                      sends TERM, and in a drain nothing
      --force               kills
Other
  -s, --subreaper           for tini's sake: drainit always adopts orphans
  -h, --help                this page
  -V, --version             the version

Each flag with a value can be set in the environment, --grace by DRAINIT_GRACE, and so can
--forking, by 1 or 0; repeatable ones take commas. A flag wins. Without either, the grace
is OJS_SHUTDOWN_GRACE_PERIOD, OJS_GRACE_PERIOD or OJS_SHUTDOWN_TIMEOUT, plus 5s.
A COMMAND that has a verb's name goes behind --, as in: drainit -- status

Signals: TERM and INT stop, and once more kill; TSTP quiets, CONT resumes; others pass.
Exit status: the worker's, or 128+n if it died of signal n; 137 if it had to be killed;
125 drainit failed; 126 COMMAND can't be executed; 127 COMMAND not found.
`

// The worker inherits the signal mask of the thread that forks it, and the
// parent-death signal is asked for by thread: all that is done on the main one.
func init() { runtime.LockOSThread() }

func main() {
	status := run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	if status == supervisor.StatusInterrupted {
		supervisor.EndByInterrupt()
	}
	os.Exit(status)
}

var errNoCommand = errors.New("there is no COMMAND to run")

// run is main with its surroundings as arguments; it returns the exit status.
func run(args, environ []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && inspect.IsVerb(args[0]) {
		return ask(args, stdout, stderr)
	}
	inbox := supervisor.OpenInbox()
	opts, err := parse(args, environ)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return print(stdout, stderr, help)
	case err == nil && opts.version:
		return print(stdout, stderr, version())
	case err == nil && len(opts.config.Command) == 0:
		err = errNoCommand
	}
	if err != nil {
		_ = logx.WriteTerminationLog(opts.config.TerminationLog, err.Error())
		if failed(stderr, err); err == errNoCommand {
			fmt.Fprint(stderr, usage)
		}
		return supervisor.StatusFailed
	}
	// A heap that may grow by a quarter, and not by as much again, keeps PID 1
	// small. GOGC and GOMEMLIMIT in the environment are meant for the worker.
	debug.SetGCPercent(25)
	debug.SetMemoryLimit(math.MaxInt64)
	log := logx.New(unix.Stderr, opts.json, opts.level)
	defer log.Close()
	return supervisor.Run(opts.config, inbox, log)
}

// ask runs a verb, which is the first of args.
func ask(args []string, stdout, stderr io.Writer) int {
	q := inspect.Request{Verb: args[0]}
	fs := newFlagSet("drainit " + q.Verb)
	switch q.Verb {
	case inspect.VerbStatus:
		addToggle(fs, &q.Ready, "ready", "")
		addToggle(fs, &q.JSON, "json", "")
	case inspect.VerbQuiet:
		fs.Var((*duration)(&q.Sleep), "sleep", "")
	case inspect.VerbStop:
		addToggle(fs, &q.Force, "force", "")
	}
	err := fs.Parse(args[1:])
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return print(stdout, stderr, help)
	case err == nil && fs.NArg() > 0:
		err = fmt.Errorf("unexpected %q", fs.Arg(0))
	}
	if err != nil {
		return failed(stderr, fmt.Errorf("%s: %w; a command of that name is run by: drainit -- %s", q.Verb, err, q.Verb))
	}
	if os.Getpid() == 1 {
		return failed(stderr, fmt.Errorf("%s asks a drainit that runs already, and this one is PID 1; a command of that name is run by: drainit -- %s", q.Verb, q.Verb))
	}
	status, err := inspect.Run(q, stdout)
	if err != nil {
		failed(stderr, err) // with a status of its own
	}
	return status
}

// duration is a flag's value.
type duration time.Duration

func (d *duration) String() string { return time.Duration(*d).String() }
func (d *duration) Type() string   { return "duration" }
func (d *duration) Set(s string) error {
	parsed, err := supervisor.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%w: takes 5s or 5 (seconds)", err)
	}
	*d = duration(parsed)
	return nil
}

// toggle is the value of a flag that takes none, but =true or =false.
type toggle bool

func (t *toggle) String() string { return strconv.FormatBool(bool(*t)) }
func (t *toggle) Type() string   { return "bool" }
func (t *toggle) Set(s string) error {
	on, err := strconv.ParseBool(s)
	if err != nil {
		return errors.New("takes true or false, or nothing")
	}
	*t = toggle(on)
	return nil
}

func addToggle(fs *pflag.FlagSet, to *bool, name, short string) {
	fs.VarPF((*toggle)(to), name, short, "").NoOptDefVal = "true"
}

// failed writes the line of an error and returns the status for it.
func failed(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "drainit: %s\n", logx.Printable(err.Error()))
	return supervisor.StatusFailed
}

func print(stdout, stderr io.Writer, text string) int {
	if _, err := io.WriteString(stdout, text); err != nil {
		return failed(stderr, err)
	}
	return 0
}

// version is the line for --version. It ends as tini's does, which dockerd
// reads when drainit is its docker-init, and warns of anything else.
func version() string {
	v, commit := "(unknown)", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		v = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) > 7 {
				commit = s.Value[:7]
			}
		}
	}
	return fmt.Sprintf("drainit %s %s - git.%s\n", v, runtime.Version(), commit)
}

// options are the command line and the environment, checked.
type options struct {
	config  supervisor.Config
	json    bool
	level   zapcore.Level
	version bool
}

// setting is what a flag with a value, or its environment variable, sets.
type setting struct {
	name   string
	short  string
	repeat bool
	toggle bool // the flag alone means true
	empty  bool // an empty value is one
	set    func(o *options, value string) error
}

var settings = [...]setting{
	{name: "termination-log", empty: true, set: setTerminationLog}, // first: it says where errors of the others go
	{name: "grace", short: "t", set: setGrace},
	{name: "stop-delay", set: setStopDelay},
	{name: "stop-signal", repeat: true, set: addStopSignal},
	{name: "remap-exit", short: "e", repeat: true, set: addRemapExit},
	{name: "parent-death-signal", short: "p", set: setParentDeathSignal},
	{name: "rewrite", short: "r", repeat: true, set: addRewrite},
	{name: "forward", set: setForward},
	{name: "forking", toggle: true, set: setForking},
	{name: "health-addr", set: setHealthAddr},
	{name: "log-format", set: setLogFormat},
	{name: "log-level", set: setLogLevel},
}

// variable is the name of the environment variable of the setting.
func (s setting) variable() string {
	return "DRAINIT_" + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
}

// texts holds what a flag was given, to be checked when all are known.
type texts []string

func (t *texts) Set(s string) error { *t = append(*t, s); return nil }
func (t *texts) String() string     { return strings.Join(*t, ",") }
func (t *texts) Type() string       { return "text" }

// newFlagSet returns a set that prints nothing by itself.
func newFlagSet(name string) *pflag.FlagSet {
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	return fs
}

// parse reads the flags, and the environment where a flag is not given. The
// error names the flag or variable, the value and what it takes, in one line; with
// it come the options as far as they were read.
func parse(args, environ []string) (*options, error) {
	fs := newFlagSet("drainit")
	fs.SetInterspersed(false) // what follows COMMAND is COMMAND's
	given := make([]texts, len(settings))
	for i, s := range settings {
		flag := fs.VarPF(&given[i], s.name, s.short, "")
		if s.toggle {
			flag.NoOptDefVal = "true"
		}
	}
	o := &options{}
	var group, alone, verbose, subreaper bool
	addToggle(fs, &group, "group", "g")
	addToggle(fs, &alone, "single-child", "c")
	addToggle(fs, &verbose, "verbose", "v")
	addToggle(fs, &subreaper, "subreaper", "s")
	addToggle(fs, &o.config.WarnReaped, "warn-reaped", "w")
	addToggle(fs, &o.version, "version", "V")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return o, err
		}
		_ = o.apply(given, environ) // as far as they could be read, for the report
		return o, fmt.Errorf("%w; drainit --help lists the flags, and COMMAND's own go behind it", err)
	}
	if o.version {
		return o, nil
	}
	if err := o.apply(given, environ); err != nil {
		return o, err
	}
	if err := o.applyShort(group, alone, fs.Changed("forward")); err != nil {
		return o, err
	}
	if verbose {
		o.level = zapcore.DebugLevel
	}
	o.config.Command = fs.Args()
	o.config.Env = workerEnv(environ)
	return o, nil
}

// apply sets each setting from its flag, its variable or its default.
func (o *options) apply(given []texts, environ []string) error {
	o.config.Grace = 30 * time.Second
	o.config.Rewrites = signals.Rewrites{}
	o.config.TerminationLog = logx.DefaultTerminationLog
	o.json = !isTerminal(unix.Stderr)
	sources := make(map[string]string)
	for i, s := range settings {
		values, source := []string(given[i]), "--"+s.name
		if len(values) == 0 {
			source = s.variable()
			values = s.split(lookupEnv(environ, source))
		}
		for _, v := range values {
			if err := s.set(o, v); err != nil {
				return fmt.Errorf("%s: %w", source, err)
			}
		}
		if s.name == "grace" && len(values) == 0 {
			if err := o.graceOfWorker(environ); err != nil {
				return err
			}
		}
		sources[s.name] = source
	}
	if c := o.config; c.StopDelay > 0 && c.StopDelay >= c.Grace {
		return fmt.Errorf("%s: %v is not inside the grace of %v: the worker would never be told", sources["stop-delay"], c.StopDelay, c.Grace)
	}
	return nil
}

// split returns the values in an environment variable, if there is one.
func (s setting) split(value string, ok bool) []string {
	switch {
	case !ok, value == "" && !s.empty:
		return nil
	case s.repeat:
		values := strings.Split(value, ",")
		for i, v := range values {
			values[i] = strings.TrimSpace(v)
		}
		return values
	}
	return []string{value}
}

// graceOfWorker takes the grace that the worker reads itself, and 5 s more, in
// which it must still give its jobs back (section 5.3 of the OJS specification).
func (o *options) graceOfWorker(environ []string) error {
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

func (o *options) applyShort(group, alone, long bool) error {
	switch {
	case group && alone, long && (group || alone):
		return errors.New("-g, -c and --forward say who gets a signal: give one of them")
	case group:
		o.config.Mode = supervisor.ModeGroup
	case alone:
		o.config.Mode = supervisor.ModeWorker
	}
	return nil
}

func setGrace(o *options, value string) (err error) {
	o.config.Grace, err = supervisor.ParseGrace(value)
	return err
}

func setStopDelay(o *options, value string) (err error) {
	if o.config.StopDelay, err = supervisor.ParseDuration(value); err != nil {
		return fmt.Errorf("%w: takes 5s or 5 (seconds)", err)
	}
	return nil
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
		return fmt.Errorf("%q is no exit status: takes a number from 0 to 255", value)
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
	if err == nil {
		o.config.Rewrites[from] = to
	}
	return err
}

func setForward(o *options, value string) (err error) {
	o.config.Mode, err = supervisor.ParseMode(value)
	return err
}

func setForking(o *options, value string) error {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return fmt.Errorf("%q: takes 1, 0, true or false", value)
	}
	o.config.Forking = on
	return nil
}

func setHealthAddr(o *options, value string) (err error) {
	o.config.HealthAddr, err = health.ParseAddress(value)
	return err
}

func setTerminationLog(o *options, value string) (err error) {
	if value != "" { // drainit will be elsewhere by then
		value, err = filepath.Abs(value)
	}
	o.config.TerminationLog = value
	return err
}

func setLogFormat(o *options, value string) error {
	switch value {
	case "auto":
	case "json", "text":
		o.json = value == "json"
	default:
		return fmt.Errorf("%q: takes auto, json or text", value)
	}
	return nil
}

func setLogLevel(o *options, value string) error {
	switch value {
	case "error", "warn", "info", "debug":
		return o.level.Set(value)
	}
	return fmt.Errorf("%q: takes error, warn, info or debug", value)
}

func lookupEnv(environ []string, name string) (value string, ok bool) {
	for _, v := range environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// workerEnv is the environment without drainit's own variables: a drainit below
// gets its own. Others that begin with DRAINIT_ are Kubernetes' or the worker's.
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

func isOwn(name string) bool {
	for _, s := range settings {
		if name == s.variable() {
			return true
		}
	}
	return false
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}
