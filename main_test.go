package main

import (
	"bytes"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/internal/health"
	"drainit/internal/signals"
	"drainit/supervisor"
)

// defaults are the options of `drainit -- x` in an empty environment.
func defaults() options {
	return options{json: true, config: supervisor.Config{
		Command: []string{"x"}, Grace: 30 * time.Second, Rewrites: signals.Rewrites{}, TerminationLog: "/dev/termination-log",
	}}
}

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
		{"forward", "--forward group x", nil, func(o *options) { o.config.Mode = supervisor.ModeGroup }},
		{"-g", "-g x", nil, func(o *options) { o.config.Mode = supervisor.ModeGroup }},
		{"-c", "-c x", nil, func(o *options) { o.config.Mode = supervisor.ModeWorker }},
		{"a short flag wins over the variable", "-c x", []string{"DRAINIT_FORWARD=group"}, func(o *options) { o.config.Mode = supervisor.ModeWorker }},
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
				supervisor.ModeGroup, true, []int{143}, unix.SIGTERM, zapcore.DebugLevel
		}},
		{"dumb-init's flags", "--single-child --rewrite 15:3 --verbose x", nil, func(o *options) {
			o.config.Mode, o.config.Rewrites, o.level = supervisor.ModeWorker, signals.Rewrites{unix.SIGTERM: unix.SIGQUIT}, zapcore.DebugLevel
		}},
		{"variables of others stay", "x", []string{"DRAINIT_SERVICE_HOST=h", "DRAINIT_LOG_LEVEL=error", "DRAINIT_GRACE_X=1", "A=b"}, func(o *options) {
			o.level, o.config.Env = zapcore.ErrorLevel, []string{"DRAINIT_SERVICE_HOST=h", "DRAINIT_GRACE_X=1", "A=b"}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := defaults()
			tt.want(&want)
			got, err := parse(strings.Fields(tt.args), tt.env)
			if err != nil {
				t.Fatal(err)
			}
			got.json = got.json || !strings.Contains(tt.args, "text") // auto goes by the terminal of the test
			if !reflect.DeepEqual(*got, want) {
				t.Errorf("got  %+v\nwant %+v", *got, want)
			}
		})
	}
}

func TestBadInputSaysWhatToDo(t *testing.T) {
	tests := []struct {
		args string
		env  string
		want string // all of the line that matters
	}{
		{"-t 25x y", "", `--grace: "25x" is no duration: takes 25s`},
		{"-t -5s y", "", `--grace: "-5s" is no duration`},
		{"-t 90000000 y", "", `(milliseconds meant?)`},
		{"-t 99999999999999999999 y", "", `is no duration`},
		{"-t 169h y", "", `more than a week`},
		{"--stop-delay infinity y", "", `--stop-delay: "infinity" is no duration: takes 5s`},
		{"--stop-delay 30s y", "", `30s is not inside the grace of 30s`},
		{"-t 0 --stop-delay 1s y", "", `not inside the grace of 0s`},
		{"--stop-signal KILL y", "", `SIGKILL can't begin the stop`},
		{"--stop-signal TSTP y", "", `SIGTSTP can't begin the stop`},
		{"--stop-signal FOO y", "", `--stop-signal: "FOO" is no signal: takes a name such as TERM`},
		{"-r TERM y", "", `--rewrite: "TERM" is no rewrite: takes FROM:TO`},
		{"-r KILL:TERM y", "", `SIGKILL can't be rewritten`},
		{"--forward all y", "", `--forward: "all": takes auto, group or worker`},
		{"-g -c y", "", `give one of them`},
		{"-g --forward auto y", "", `give one of them`},
		{"-e 256 y", "", `--remap-exit: "256" is no exit status: takes a number from 0 to 255`},
		{"-e -1 y", "", `--remap-exit: "-1"`},
		{"-p 0 y", "", `--parent-death-signal: "0" is no signal`},
		{"--health-addr localhost:80 y", "", `--health-addr: "localhost:80": takes :8080 or 127.0.0.1:8080, an address and not a name`},
		{"--log-format xml y", "", `--log-format: "xml": takes auto, json or text`},
		{"--log-level panic y", "", `--log-level: "panic": takes error, warn, info or debug`},
		{"--grce 5 y", "", `unknown flag: --grce`},
		{"-x y", "", `unknown shorthand flag: 'x' in -x`},
		{"--grace", "", `flag needs an argument: --grace`},
		{"y", "DRAINIT_GRACE=25x", `DRAINIT_GRACE: "25x" is no duration`},
		{"y", "DRAINIT_REWRITE=TERM:QUIT,HUP", `DRAINIT_REWRITE: "HUP" is no rewrite`},
		{"y", "OJS_GRACE_PERIOD=soon", `OJS_GRACE_PERIOD: "soon" is no duration`},
	}
	for _, tt := range tests {
		t.Run(tt.args+tt.env, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			status := run(strings.Fields(tt.args), []string{tt.env}, &stdout, &stderr)
			line := stderr.String()
			if status != 125 || stdout.Len() > 0 || !strings.Contains(line, tt.want) {
				t.Errorf("status %d, stdout %q, stderr %q; want 125 and %q", status, stdout.String(), line, tt.want)
			}
			if !strings.HasPrefix(line, "drainit: ") || strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
				t.Errorf("not one line of drainit's: %q", line)
			}
		})
	}
}

func TestHelpNamesEveryFlagAndFits(t *testing.T) {
	for _, s := range settings {
		if !regexp.MustCompile(`(?m)^ +` + spelled(s) + `[ \n]`).MatchString(help) {
			t.Errorf("%s does not begin a line of the help", spelled(s))
		}
	}
	for _, short := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		flag := "-" + string(short)
		_, err := parse([]string{flag, "x"}, nil)
		taken := err == nil || !strings.Contains(err.Error(), "unknown shorthand")
		if named := regexp.MustCompile(`(?m)^ +` + flag + `\b`).MatchString(help); named != taken {
			t.Errorf("%s is taken: %v, in the help: %v", flag, taken, named)
		}
	}
	for _, word := range []string{"-h, --help", "-V, --version", "DRAINIT_GRACE", "OJS_SHUTDOWN_GRACE_PERIOD", "OJS_GRACE_PERIOD", "OJS_SHUTDOWN_TIMEOUT"} {
		if !strings.Contains(help, word) {
			t.Errorf("%s is not in the help", word)
		}
	}
	for line := range strings.Lines(help) {
		if len(line) > 92 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

// spelled is a flag as the help and the README have it.
func spelled(s setting) string {
	if s.short == "" {
		return "--" + s.name
	}
	return "-" + s.short + ", --" + s.name
}

// The table has the flag, and the paragraph below it the variable.
func TestREADMENamesEveryFlagAndVariable(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, variables, _ := strings.Cut(string(readme), "\nEach flag with a value has an environment variable")
	variables, _, _ = strings.Cut(variables, "\n\n")
	for _, s := range settings {
		if !regexp.MustCompile("(?m)^\\| `" + spelled(s) + "[ `]").Match(readme) {
			t.Errorf("%s is not in the README's table", spelled(s))
		}
		if !strings.Contains(variables, "`"+s.variable()+"`") {
			t.Errorf("%s is not in the README's list", s.variable())
		}
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"", "0", "25", "25s", "1m30s", "infinity", "-1", "1e9", "9223372036854775807", "168h", "0x10", "1_000", "٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := supervisor.ParseDuration(s)
		if err == nil && (d < 0 || d > 7*24*time.Hour) {
			t.Errorf("%q is %v", s, d)
		}
		if err != nil && (d != 0 || strings.ContainsAny(err.Error(), "\n\x00\x1b")) {
			t.Errorf("%q gives %v and %q", s, d, err)
		}
		if g, gerr := supervisor.ParseGrace(s); s != "infinity" && (g != d || (gerr == nil) != (err == nil)) {
			t.Errorf("%q is a duration of %v, %v and a grace of %v, %v", s, d, err, g, gerr)
		}
	})
}
