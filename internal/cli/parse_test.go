package cli

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/health"
	"drainit/internal/signals"
	"drainit/supervisor"
)

// settings are drainit's, to be asked for their names.
var settings = new(options).settings()

// plain are the options of `drainit -- x` in an empty environment.
func plain() options {
	o := defaults()
	o.json, o.config.Command = true, []string{"x"}
	return *o
}

// address is a health address that is known to be right.
func address(s string) health.Address {
	a, err := health.ParseAddress(s)
	if err != nil {
		panic(err)
	}
	return a
}

func TestParse(t *testing.T) {
	tests := []struct {
		name string
		args string
		env  []string
		want func(*options)
	}{
		{"defaults", "-- x", nil, func(*options) {}},
		{"no -- needed", "x", nil, func(*options) {}},
		{"COMMAND's flags are its own", "-t 5 sh -c x -t 7", nil, func(o *options) {
			o.config.Grace, o.config.Command = 5*time.Second, []string{"sh", "-c", "x", "-t", "7"}
		}},
		{"grace", "--grace=1m30s x", nil, func(o *options) { o.config.Grace = 90 * time.Second }},
		{"grace in seconds", "-t25 x", nil, func(o *options) { o.config.Grace = 25 * time.Second }},
		{"no grace", "-t 0 x", nil, func(o *options) { o.config.Grace = 0 }},
		{"infinite grace", "-t infinity x", nil, func(o *options) { o.config.Grace = supervisor.Forever }},
		{"the last one wins", "-t 5 -t 6 x", nil, func(o *options) { o.config.Grace = 6 * time.Second }},
		{"a week", "-t 168h x", nil, func(o *options) { o.config.Grace = 168 * time.Hour }},
		{"grace by variable", "x", []string{"DRAINIT_GRACE=7"}, func(o *options) { o.config.Grace = 7 * time.Second }},
		{"a flag wins over its variable, even a bad one", "-t 5 x", []string{"DRAINIT_GRACE=bad"}, func(o *options) { o.config.Grace = 5 * time.Second }},
		{"an empty variable is none", "x", []string{"DRAINIT_GRACE="}, func(*options) {}},
		{"the worker's grace and 5 s", "x", []string{"OJS_SHUTDOWN_GRACE_PERIOD=80s"}, func(o *options) {
			o.config.Grace, o.config.Env = 85*time.Second, []string{"OJS_SHUTDOWN_GRACE_PERIOD=80s"}
		}},
		{"its order", "x", []string{"OJS_SHUTDOWN_TIMEOUT=1", "OJS_GRACE_PERIOD=2"}, func(o *options) {
			o.config.Grace, o.config.Env = 7*time.Second, []string{"OJS_SHUTDOWN_TIMEOUT=1", "OJS_GRACE_PERIOD=2"}
		}},
		{"the worker's infinite grace", "x", []string{"OJS_GRACE_PERIOD=infinity"}, func(o *options) {
			o.config.Grace, o.config.Env = supervisor.Forever, []string{"OJS_GRACE_PERIOD=infinity"}
		}},
		{"drainit's own variable before the worker's", "x", []string{"DRAINIT_GRACE=9", "OJS_GRACE_PERIOD=bad"}, func(o *options) {
			o.config.Grace, o.config.Env = 9*time.Second, []string{"OJS_GRACE_PERIOD=bad"}
		}},
		{"stop delay", "--stop-delay 5s x", nil, func(o *options) { o.config.StopDelay = 5 * time.Second }},
		{"stop signals", "--stop-signal QUIT --stop-signal SIGRTMIN+3 x", nil, func(o *options) { o.config.StopSignals = []unix.Signal{unix.SIGQUIT, 37} }},
		{"stop signals by variable", "x", []string{"DRAINIT_STOP_SIGNAL=QUIT,WINCH"}, func(o *options) {
			o.config.StopSignals = []unix.Signal{unix.SIGQUIT, unix.SIGWINCH}
		}},
		{"rewrites", "-r 15:3 --rewrite HUP:0 x", nil, func(o *options) {
			o.config.Rewrites = signals.Rewrites{unix.SIGTERM: unix.SIGQUIT, unix.SIGHUP: signals.Drop}
		}},
		{"a flag replaces the variable's list", "-r 15:3 x", []string{"DRAINIT_REWRITE=HUP:0"}, func(o *options) {
			o.config.Rewrites = signals.Rewrites{unix.SIGTERM: unix.SIGQUIT}
		}},
		{"forward", "--forward group x", nil, func(o *options) { o.config.Mode = forward.ModeGroup }},
		{"-g", "-g x", nil, func(o *options) { o.config.Mode = forward.ModeGroup }},
		{"-c", "-c x", nil, func(o *options) { o.config.Mode = forward.ModeWorker }},
		{"a short flag wins over the variable", "-c x", []string{"DRAINIT_FORWARD=group"}, func(o *options) { o.config.Mode = forward.ModeWorker }},
		{"remaps", "-e 143 -e 0 x", nil, func(o *options) { o.config.RemapExit = []int{143, 0} }},
		{"parent death signal", "-p KILL x", nil, func(o *options) { o.config.ParentDeathSignal = unix.SIGKILL }},
		{"health address", "--health-addr :8080 x", nil, func(o *options) { o.config.HealthAddr = address(":8080") }},
		{"health address by variable", "x", []string{"DRAINIT_HEALTH_ADDR=[::1]:80"}, func(o *options) { o.config.HealthAddr = address("[::1]:80") }},
		{"text", "--log-format text x", nil, func(o *options) { o.json = false }},
		{"termination log", "--termination-log /a/b x", nil, func(o *options) { o.config.TerminationLog = "/a/b" }},
		{"no termination log", "--termination-log= x", nil, func(o *options) { o.config.TerminationLog = "" }},
		{"no termination log, by variable", "x", []string{"DRAINIT_TERMINATION_LOG="}, func(o *options) { o.config.TerminationLog = "" }},
		{"level", "--log-level warn x", nil, func(o *options) { o.level = zapcore.WarnLevel }},
		{"-v wins over the level", "-v --log-level warn x", nil, func(o *options) { o.level = zapcore.DebugLevel }},
		{"tini's flags", "-s -g -w -vvv -e 143 -p SIGTERM -- x", nil, func(o *options) {
			o.config.Mode, o.config.WarnReaped, o.config.RemapExit, o.config.ParentDeathSignal, o.level =
				forward.ModeGroup, true, []int{143}, unix.SIGTERM, zapcore.DebugLevel
		}},
		{"dumb-init's flags", "--single-child --rewrite 15:3 --verbose x", nil, func(o *options) {
			o.config.Mode, o.config.Rewrites, o.level = forward.ModeWorker, signals.Rewrites{unix.SIGTERM: unix.SIGQUIT}, zapcore.DebugLevel
		}},
		{"pause", "--pause", nil, func(o *options) { o.pause, o.config.Command = true, []string{} }},
		{"variables of others stay", "x", []string{"DRAINIT_SERVICE_HOST=h", "DRAINIT_LOG_LEVEL=error", "DRAINIT_GRACE_X=1", "A=b"}, func(o *options) {
			o.level, o.config.Env = zapcore.ErrorLevel, []string{"DRAINIT_SERVICE_HOST=h", "DRAINIT_GRACE_X=1", "A=b"}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := plain()
			tt.want(&want)
			got, err := parse(strings.Fields(tt.args), tt.env)
			if err != nil {
				t.Fatal(err)
			}
			got.json = got.json || !strings.Contains(tt.args, "text") // auto goes by the terminal of the test
			if want.config.Env == nil {
				want.config.Env = slices.Clone(got.config.Env[:0])
			}
			if !reflect.DeepEqual(*got, want) {
				t.Errorf("got  %+v\nwant %+v", *got, want)
			}
		})
	}
}

func TestFlagsThatSayTheSameExcludeEachOther(t *testing.T) {
	const excluded = "-g, -c and --forward say which processes get a signal: give one of them"
	tests := []struct {
		args, env string
		mode      forward.Mode
		err       string
	}{
		{"-g -c x", "", 0, excluded},
		{"--group --single-child x", "", 0, excluded},
		{"-gc x", "", 0, excluded},
		{"-g --forward auto x", "", 0, excluded},
		{"-g --forward group x", "", 0, excluded},
		{"-c --forward worker x", "", 0, excluded},
		{"--forward worker -c x", "", 0, excluded},
		{"-g -c --forward auto x", "", 0, excluded},
		{"-g --forward all x", "", 0, `--forward: invalid value "all": want auto, group or worker`},
		{"--forward worker x", "DRAINIT_FORWARD=group", forward.ModeWorker, ""},
		{"--forward auto x", "DRAINIT_FORWARD=group", forward.ModeAuto, ""},
		{"-g x", "DRAINIT_FORWARD=worker", forward.ModeGroup, ""},
		{"-c x", "DRAINIT_FORWARD=group", forward.ModeWorker, ""},
		{"-g -g x", "", forward.ModeGroup, ""},
		{"--group=false -c x", "", forward.ModeWorker, ""},
		{"-g -c=false x", "", forward.ModeGroup, ""},
		{"-g=false --forward worker x", "DRAINIT_FORWARD=group", forward.ModeWorker, ""},
		{"-g=false x", "DRAINIT_FORWARD=group", forward.ModeGroup, ""},
		{"--forward group --forward worker x", "", forward.ModeWorker, ""},
	}
	for _, tt := range tests {
		o, err := parse(strings.Fields(tt.args), []string{tt.env})
		switch {
		case tt.err != "" && (err == nil || err.Error() != tt.err):
			t.Errorf("%s %s: %v, want %s", tt.env, tt.args, err, tt.err)
		case tt.err == "" && (err != nil || o.config.Mode != tt.mode):
			t.Errorf("%s %s: %v, %v, want %v", tt.env, tt.args, o.config.Mode, err, tt.mode)
		}
	}
}

func TestToggles(t *testing.T) {
	off := options{}
	tests := map[string]func(*options){
		"x":                    func(*options) {},
		"-w x":                 func(o *options) { o.config.WarnReaped = true },
		"--warn-reaped x":      func(o *options) { o.config.WarnReaped = true },
		"--warn-reaped=true x": func(o *options) { o.config.WarnReaped = true },
		"-w --warn-reaped=0 x": func(*options) {},
		"-v x":                 func(o *options) { o.level = zapcore.DebugLevel },
		"-vv -v x":             func(o *options) { o.level = zapcore.DebugLevel },
		"-v --verbose=false x": func(*options) {},
		"-s x":                 func(*options) {},
		"--subreaper x":        func(*options) {},
		"--subreaper=false x":  func(*options) {},
		"--version=0 x":        func(*options) {},
	}
	for args, set := range tests {
		want := off
		set(&want)
		o, err := parse(strings.Fields(args), nil)
		if err != nil || o.config.WarnReaped != want.config.WarnReaped || o.level != want.level || o.version {
			t.Errorf("%s: warn reaped %v, level %v, version %v, %v", args, o.config.WarnReaped, o.level, o.version, err)
		}
	}
	for _, flag := range []string{"-g, --group", "-c, --single-child", "-v, --verbose", "-s, --subreaper", "-w, --warn-reaped", "-V, --version"} {
		_, long, _ := strings.Cut(flag, ", ")
		want := `invalid argument "maybe" for "` + flag + `" flag: invalid value "maybe": want 1, 0, true or false; drainit --help lists the flags, and COMMAND's own come after COMMAND`
		if _, err := parse([]string{long + "=maybe", "x"}, nil); err == nil || err.Error() != want {
			t.Errorf("%s=maybe: %v, want %s", long, err, want)
		}
	}
}

func TestStopDelayIsInsideTheGrace(t *testing.T) {
	outside := func(source, delay, grace string) string {
		return source + ": " + delay + " is not shorter than the grace period of " + grace + ": the worker would never be signalled"
	}
	tests := []struct {
		args, env string
		want      string // the error
	}{
		{"--stop-delay 29999ms x", "", ""},
		{"--stop-delay 30s x", "", outside("--stop-delay", "30s", "30s")},
		{"--stop-delay 31s x", "", outside("--stop-delay", "31s", "30s")},
		{"x", "DRAINIT_STOP_DELAY=31s", outside("DRAINIT_STOP_DELAY", "31s", "30s")},
		{"--stop-delay 40s x", "DRAINIT_STOP_DELAY=5s", outside("--stop-delay", "40s", "30s")},
		{"--stop-delay 5s x", "DRAINIT_STOP_DELAY=40s", ""},
		{"--stop-delay 31s x", "DRAINIT_GRACE=32s", ""},
		{"--stop-delay 31s x", "OJS_GRACE_PERIOD=26s", outside("--stop-delay", "31s", "31s")},
		{"--stop-delay 31s x", "OJS_GRACE_PERIOD=27s", ""},
		{"--stop-delay 168h -t infinity x", "", ""},
		{"--stop-delay 168h -t 168h x", "", outside("--stop-delay", "168h0m0s", "168h0m0s")},
		{"--stop-delay 1ns -t 0 x", "", outside("--stop-delay", "1ns", "0s")},
		{"--stop-delay 0 -t 0 x", "", ""},
		{"-t 0 x", "", ""},
		{"--stop-delay 40s --log-level x x", "", outside("--stop-delay", "40s", "30s")},
		{"--stop-delay 40s -g -c x", "", outside("--stop-delay", "40s", "30s")},
	}
	for _, tt := range tests {
		if _, err := parse(strings.Fields(tt.args), []string{tt.env}); (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
			t.Errorf("%s %s: %v, want %q", tt.env, tt.args, err, tt.want)
		}
	}
}

func TestVersionAsksForNoMore(t *testing.T) {
	o, err := parse([]string{"-V", "-t", "bad", "x"}, []string{"DRAINIT_FORWARD=bad"})
	if err != nil || !o.version {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestCommandIsAsItWasGiven(t *testing.T) {
	tests := []struct{ args, want []string }{
		{nil, nil},
		{[]string{"--"}, nil},
		{[]string{"-t", "5", "x"}, []string{"x"}},
		{[]string{"x", "--", "y"}, []string{"x", "--", "y"}},
		{[]string{"--", "x", "--", "-t", "y"}, []string{"x", "--", "-t", "y"}},
		{[]string{"--", "-t", "5"}, []string{"-t", "5"}},
		{[]string{"--", "--help"}, []string{"--help"}},
		{[]string{"x", "--help", "--version"}, []string{"x", "--help", "--version"}},
		{[]string{"-g", "", "a b"}, []string{"", "a b"}},
	}
	for _, tt := range tests {
		o, err := parse(tt.args, nil)
		if err != nil || !slices.Equal(o.config.Command, tt.want) || o.version {
			t.Errorf("%q: %q, %v; want %q", tt.args, o.config.Command, err, tt.want)
		}
	}
}
