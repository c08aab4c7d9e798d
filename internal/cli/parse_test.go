package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/inspect"
	"drainit/internal/machine"
	"drainit/internal/signals"
	"drainit/supervisor"
)

// What no setting's own test shows: the other flags, several together, and COMMAND.
func TestParse(t *testing.T) {
	mode := func(mode forward.Mode) func(*options) { return func(o *options) { o.Config.Mode = mode } }
	command := func(words ...string) func(*options) { return func(o *options) { o.Config.Command = words } }
	none := func(*options) {}
	debug := func(o *options) { o.level = zapcore.DebugLevel }
	for _, tt := range []struct {
		args, environ string
		want          func(*options)
	}{
		{"-- x", "", none},
		{"sh -c x -t 7 -- --help", "", command("sh", "-c", "x", "-t", "7", "--", "--help")},
		{"-- --help -- -t y", "", command("--help", "--", "-t", "y")},
		{"-- stop --force", "", command("stop", "--force")},
		{"-g stop", "", func(o *options) { o.Config.Mode, o.Config.Command = forward.ModeGroup, []string{"stop"} }},
		{"-g x stop", "", func(o *options) { o.Config.Mode, o.Config.Command = forward.ModeGroup, []string{"x", "stop"} }},
		{"--forking 0", "DRAINIT_FORKING=0", func(o *options) { o.Config.Forking, o.Config.Command = true, []string{"0"} }},
		{"-g x", "DRAINIT_FORWARD=worker", mode(forward.ModeGroup)},
		{"-c -c x", "DRAINIT_FORWARD=group", mode(forward.ModeWorker)},
		{"--group=false --single-child x", "", mode(forward.ModeWorker)},
		{"-g=false --forward worker x", "", mode(forward.ModeWorker)},
		{"-g=false x", "DRAINIT_FORWARD=group", mode(forward.ModeGroup)},
		{"-w --warn-reaped=0 x", "", none},
		{"-v --log-level warn x", "", debug},
		{"--verbose x", "DRAINIT_LOG_LEVEL=error", debug},
		{"-v --verbose=false x", "", none},
		{"-s --subreaper x", "", none},
		{"--version=0 x", "", none},
		{"--stop-delay 31s x", "DRAINIT_GRACE=32s", func(o *options) { o.Config.Grace, o.Config.StopDelay = 32*time.Second, 31*time.Second }},
		{"--stop-delay 0 -t 0 x", "", func(o *options) { o.Config.Grace = 0 }},
		{"-s -g -w -vvv -e 143 -p SIGTERM -- x", "", func(o *options) { // tini's
			o.Config.Mode, o.Config.RemapExit, o.Config.ParentDeathSignal = forward.ModeGroup, []int{143}, unix.SIGTERM
			o.level = zapcore.DebugLevel
		}},
		{"--single-child --rewrite 15:3 --verbose x", "", func(o *options) { // dumb-init's
			o.Config.Mode, o.Config.Rewrites, o.level = forward.ModeWorker, signals.Rewrites{unix.SIGTERM: unix.SIGQUIT}, zapcore.DebugLevel
		}},
		{"-P", "", func(o *options) { o.pause, o.Config.Command = true, []string{} }},
		{"--pause --", "", func(o *options) { o.pause, o.Config.Command = true, []string{} }},
	} {
		want := plain()
		tt.want(&want)
		wantParsed(t, strings.Fields(tt.args), strings.Fields(tt.environ), want)
	}
}

func TestParseMistakes(t *testing.T) {
	const excluded = "-g, -c and --forward say which processes get a signal: give one of them"
	outside := func(source, delay, grace string) string {
		return source + ": " + delay + " is not shorter than the grace period of " + grace + ": the worker would never be signalled"
	}
	for _, tt := range []struct{ args, environ, want string }{
		{"-gc x", "", excluded},
		{"-g --forward group x", "", excluded},
		{"--forward worker -c x", "", excluded},
		{"-g --forward all x", "", `--forward: invalid value "all": want auto, group, worker or none`},
		{"--json status", "", "unknown flag: --json; a subcommand must be the first argument: drainit status"},
		{"--pid 7 quiet", "", "unknown flag: --pid; a subcommand must be the first argument: drainit quiet"},
		{"--json -- status", "", "unknown flag: --json" + helpHint},
		{"--pause y", "", `--pause runs no COMMAND, and was given "y"`},
		{"--stop-delay 31s x", "OJS_GRACE_PERIOD=26s", outside("--stop-delay", "31s", "30s")},
		{"x", "DRAINIT_STOP_DELAY=35s", outside("DRAINIT_STOP_DELAY", "35s", "35s")},
		{"--stop-delay 1ns -t 0 x", "", outside("--stop-delay", "1ns", "0s")},
		{"--stop-delay 40s --log-level x -g -c x", "", outside("--stop-delay", "40s", "35s")},
	} {
		if _, err := parse(strings.Fields(tt.args), strings.Fields(tt.environ)); err == nil || err.Error() != tt.want {
			t.Errorf("%s %s:\ngot  %v\nwant %s", tt.environ, tt.args, err, tt.want)
		}
	}
	for _, flag := range []string{"-g, --group", "-c, --single-child", "-v, --verbose", "-s, --subreaper", "-w, --warn-reaped", "-P, --pause", "-V, --version"} {
		want := `invalid argument "maybe" for "` + flag + `" flag: invalid value "maybe": want 1, 0, true or false` + helpHint
		if _, err := parse([]string{flag[len("-g, "):] + "=maybe", "x"}, nil); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// FuzzParse reads any command line and environment, each of fields that a line end
// parts. What parse lets through, supervisor.Run relies on.
func FuzzParse(f *testing.F) {
	for _, seed := range []struct{ args, environ string }{
		{"--\nx", ""},
		{"-t25\n--stop-delay=5s\nsh\n-c\nx", "DRAINIT_GRACE=bad\nA=b\nC"},
		{"-gwvs\n-e\n143\n-p\nKILL\nx", "DRAINIT_STOP_SIGNAL=QUIT, RTMIN+3\nDRAINIT_FORKING=1"},
		{"-c\n-r\n15:3\n--rewrite=HUP:0\nx", "OJS_GRACE_PERIOD=168h"},
		{"--health-addr\n[::1]:80\n--log-format\ntext\nx", "DRAINIT_LOG_LEVEL=debug\nDRAINIT_SERVICE_HOST=h"},
		{"--termination-log\nx\n--forking=0\n-V\nx", "=\n==\nDRAINIT_GRACE"},
	} {
		f.Add(seed.args, seed.environ)
	}
	f.Fuzz(func(t *testing.T, args, environ string) {
		o, err := parse(strings.Split(args, "\n"), strings.Split(environ, "\n"))
		if o == nil {
			t.Fatal("no options")
		}
		if err == nil && !o.version {
			checkConfig(t, o.Config)
		}
	})
}

func checkConfig(t *testing.T, c supervisor.Config) {
	const longest = 168*time.Hour + 5*time.Second // what the worker takes, and 5 s
	wrong := slices.ContainsFunc(c.StopSignals, func(sig unix.Signal) bool {
		return !signals.Forwardable(sig) || sig == unix.SIGTSTP || sig == unix.SIGCONT
	})
	for from, to := range c.Rewrites {
		wrong = wrong || !signals.Rewritable(from) || to < 0 || to > 64 || to == unix.SIGSTOP
	}
	for _, code := range c.RemapExit {
		wrong = wrong || code < 0 || code > 255
	}
	if wrong || c.Grace < 0 || c.Grace > longest && c.Grace != machine.Forever ||
		c.StopDelay < 0 || c.StopDelay > 0 && c.StopDelay >= c.Grace ||
		c.ParentDeathSignal < 0 || c.ParentDeathSignal > 64 || c.Mode > forward.ModeWorker ||
		!slices.Equal(workerEnv(c.Env), c.Env) {
		t.Errorf("%+v", c)
	}
}

// These tests ask parseVerb, and Run of status alone: a fault in what they test must not
// signal a drainit that runs beside them.

func TestVerbs(t *testing.T) {
	for args, want := range map[string]inspect.Request{
		"status --json --ready":                {Verb: "status", Ready: true, JSON: true},
		"status --plan":                        {Verb: "status", Plan: true},
		"status --ready --ready=false --pid 7": {Verb: "status", PID: 7},
		"quiet --sleep 5s --pid=8 --pid 9":     {Verb: "quiet", Sleep: 5 * time.Second, PID: 9},
		"quiet --sleep=25 --sleep 1m0s":        {Verb: "quiet", Sleep: time.Minute},
		"resume --pid 2147483647 --":           {Verb: "resume", PID: 1<<31 - 1},
		"stop --wait --force --pid 8":          {Verb: "stop", Wait: true, Force: true, PID: 8},
		"stop --force=0":                       {Verb: "stop"},
	} {
		if got, err := parseVerb(strings.Fields(args), 7); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", args, got, err, want)
		}
	}
}

// A mistake is named before anything else, for an image may have a COMMAND of a verb's name.
func TestVerbsMistakes(t *testing.T) {
	const asPID1 = "this drainit has just started as PID 1, and a subcommand asks one that runs already"
	for args, problem := range map[string]string{ // the error between the verb and the hint
		"status now":                 `unexpected "now"`,
		"resume -- x y":              `unexpected "x"`,
		"stop -f":                    `unknown shorthand flag: 'f' in -f`,
		"status --json --bad --help": `unknown flag: --bad`,
		"quiet --sleep":              `flag needs an argument: --sleep`,
		"quiet --sleep infinity":     `invalid argument "infinity" for "--sleep" flag: invalid duration "infinity": want 5s or 5 (seconds)`,
		"status --ready=maybe":       `invalid argument "maybe" for "--ready" flag: invalid value "maybe": want 1, 0, true or false`,
		"stop --force=":              `invalid argument "" for "--force" flag: invalid value "": want 1, 0, true or false`,
		"stop --pid 0":               `invalid argument "0" for "--pid" flag: want a pid`,
		"stop --pid -1":              `invalid argument "-1" for "--pid" flag: want a pid`,
		"quiet --pid 2147483648":     `invalid argument "2147483648" for "--pid" flag: want a pid`,
		"status":                     asPID1,
		"stop --force":               asPID1,
		"quiet --help":               "",
		"stop --force -h x":          "",
	} {
		verb, _, _ := strings.Cut(args, " ")
		want := verb + ": " + problem + "; a command of that name is run by: drainit -- " + verb
		if problem == "" {
			want = pflag.ErrHelp.Error()
		}
		for _, pid := range []int{7, 1} {
			_, err := parseVerb(strings.Fields(args), pid)
			if ok := problem == asPID1 && pid != 1; ok != (err == nil) || err != nil && err.Error() != want {
				t.Errorf("%s as %d:\ngot  %v\nwant %s", args, pid, err, want)
			}
		}
	}
	want := said{125, "", `drainit: status: unexpected "a\nb"; a command of that name is run by: drainit -- status` + "\n"}
	if got := run(t, []string{"status", "a\nb"}, nil); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// There may be a drainit beside the test, or several, or none.
func TestVerbAnswers(t *testing.T) {
	got := run(t, []string{"status"}, nil)
	if refused := strings.HasPrefix(got.stderr, "drainit: "); refused == (got.stdout != "") || !refused && got.status == 125 {
		t.Errorf("%+v", got)
	}
}
