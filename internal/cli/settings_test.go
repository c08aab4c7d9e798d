package cli

import (
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/signals"
)

// ways are how a value can be given to a setting.
func ways(s setting, value string) map[string]func() (*options, error) {
	all := map[string]func() (*options, error){
		"--name=value": func() (*options, error) { return parse([]string{"--" + s.name + "=" + value, "x"}, nil) },
		"NAME=value": func() (*options, error) {
			return parse([]string{"x"}, []string{s.variable() + "=" + value})
		},
		"--name=value with a bad variable": func() (*options, error) {
			return parse([]string{"--" + s.name + "=" + value, "x"}, []string{s.variable() + "=bad"})
		},
		"NAME=value among others": func() (*options, error) {
			return parse([]string{"x"}, []string{s.variable() + "S=bad", s.variable() + "=" + value, s.variable() + "=bad"})
		},
	}
	if !s.toggle {
		all["--name value"] = func() (*options, error) { return parse([]string{"--" + s.name, value, "x"}, nil) }
	}
	if s.short != "" {
		all["-n value"] = func() (*options, error) { return parse([]string{"-" + s.short, value, "x"}, nil) }
		if value != "" {
			all["-nvalue"] = func() (*options, error) { return parse([]string{"-" + s.short + value, "x"}, nil) }
		}
	}
	return all
}

func TestEverySettingIsTested(t *testing.T) {
	for _, s := range settings {
		tt, ok := settingTests[s.name]
		if !ok || len(tt.good) == 0 || len(tt.bad) == 0 && s.name != "termination-log" {
			t.Errorf("%s: %d values, %d bad ones", s.name, len(tt.good), len(tt.bad))
		}
	}
	if len(settingTests) != len(settings) {
		t.Errorf("%d tests, %d settings", len(settingTests), len(settings))
	}
}

func TestSettingsDefaults(t *testing.T) {
	for _, s := range settings {
		tt := settingTests[s.name]
		for _, environ := range [][]string{nil, {s.variable()}, {s.variable() + "_X=bad"}, {"X" + s.variable() + "=bad"}} {
			o, err := parse([]string{"x"}, environ)
			if err != nil || !reflect.DeepEqual(tt.field(o), tt.without) {
				t.Errorf("%s in %q: %v, %v; want %v", s.name, environ, tt.field(o), err, tt.without)
			}
		}
	}
}

func TestSettingsValues(t *testing.T) {
	for _, s := range settings {
		tt := settingTests[s.name]
		for value, want := range tt.good {
			for way, give := range ways(s, value) {
				if o, err := give(); err != nil || !reflect.DeepEqual(tt.field(o), want) {
					t.Errorf("%s, %s, %q: %v, %v; want %v", s.name, way, value, tt.field(o), err, want)
				}
			}
		}
	}
}

func TestSettingsBadValues(t *testing.T) {
	for _, s := range settings {
		for value, problem := range settingTests[s.name].bad {
			for way, give := range ways(s, value) {
				want := "--" + s.name + ": " + problem
				if way == "NAME=value" || way == "NAME=value among others" {
					want = s.variable() + ": " + problem
				}
				if _, err := give(); err == nil || err.Error() != want {
					t.Errorf("%s, %q:\ngot  %v\nwant %s", way, value, err, want)
				}
			}
		}
	}
}

// An empty flag is a value, and a bad one; an empty variable is as none. The termination
// log is turned off by either.
func TestSettingsEmptyValues(t *testing.T) {
	for _, s := range settings {
		tt := settingTests[s.name]
		if s.name == "termination-log" {
			continue
		}
		if o, err := parse([]string{"x"}, []string{s.variable() + "="}); err != nil || !reflect.DeepEqual(tt.field(o), tt.without) {
			t.Errorf("%s=: %v, %v; want %v", s.variable(), tt.field(o), err, tt.without)
		}
		if _, err := parse([]string{"--" + s.name + "=", "x"}, nil); err == nil {
			t.Errorf("%s= is taken", "--"+s.name)
		}
	}
}

func TestSettingsGivenTwice(t *testing.T) {
	tests := map[string]struct {
		values [2]string
		want   any
	}{
		"termination-log":     {[2]string{"/a", "/b"}, "/b"},
		"grace":               {[2]string{"5", "6"}, 6 * time.Second},
		"stop-delay":          {[2]string{"5", "6"}, 6 * time.Second},
		"stop-signal":         {[2]string{"QUIT", "USR1"}, []unix.Signal{unix.SIGQUIT, unix.SIGUSR1}},
		"remap-exit":          {[2]string{"143", "0"}, []int{143, 0}},
		"parent-death-signal": {[2]string{"KILL", "TERM"}, unix.SIGTERM},
		"rewrite":             {[2]string{"TERM:QUIT", "HUP:0"}, signals.Rewrites{15: 3, 1: 0}},
		"forward":             {[2]string{"group", "worker"}, forward.ModeWorker},
		"forking":             {[2]string{"1", "0"}, false},
		"second-stop":         {[2]string{"ignore", "force"}, false},
		"health-addr":         {[2]string{":80", ":81"}, address(":81")},
		"log-format":          {[2]string{"text", "json"}, true},
		"log-level":           {[2]string{"error", "warn"}, zapcore.WarnLevel},
	}
	for _, s := range settings {
		tt, ok := tests[s.name]
		if !ok {
			t.Errorf("%s is not tested", s.name)
			continue
		}
		first, second := tt.values[0], tt.values[1]
		field := settingTests[s.name].field
		o, err := parse([]string{"--" + s.name + "=" + first, "--" + s.name + "=" + second, "x"}, nil)
		if err != nil || !reflect.DeepEqual(field(o), tt.want) {
			t.Errorf("%s: %v, %v; want %v", "--"+s.name, field(o), err, tt.want)
		}
	}
}

func TestVariablesThatTakeAList(t *testing.T) {
	tests := map[string]struct {
		first, second string
		want          any
	}{
		"stop-signal": {"QUIT", "USR1", []unix.Signal{unix.SIGQUIT, unix.SIGUSR1}},
		"remap-exit":  {"143", "0", []int{143, 0}},
		"rewrite":     {"TERM:QUIT", "HUP:0", signals.Rewrites{15: 3, 1: 0}},
	}
	for _, s := range settings {
		tt, ok := tests[s.name]
		if s.repeat != ok {
			t.Errorf("%s takes a list: %v", s.name, s.repeat)
		}
		if !ok {
			continue
		}
		for _, list := range []string{tt.first + "," + tt.second, " " + tt.first + " , " + tt.second + "\t"} {
			o, err := parse([]string{"x"}, []string{s.variable() + "=" + list})
			if got := settingTests[s.name].field(o); err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s=%q: %v, %v; want %v", s.variable(), list, got, err, tt.want)
			}
		}
		for _, list := range []string{tt.first + ",", "," + tt.first, " ", tt.first + ",,"} {
			if _, err := parse([]string{"x"}, []string{s.variable() + "=" + list}); err == nil {
				t.Errorf("%s=%q is taken", s.variable(), list)
			}
		}
		if _, err := parse([]string{"--" + s.name + "=" + tt.first + "," + tt.second, "x"}, nil); err == nil {
			t.Errorf("the flag %s takes a list", "--"+s.name)
		}
	}
}

func TestARewriteReplacesTheSameOne(t *testing.T) {
	o, err := parse([]string{"-r", "TERM:QUIT", "-r", "15:INT", "x"}, nil)
	if want := (signals.Rewrites{15: 2}); err != nil || !reflect.DeepEqual(o.config.Rewrites, want) {
		t.Errorf("%v, %v; want %v", o.config.Rewrites, err, want)
	}
}

func TestForkingAloneMeansTrue(t *testing.T) {
	o, err := parse([]string{"--forking", "0"}, []string{"DRAINIT_FORKING=0"})
	if err != nil || !o.config.Forking || !slices.Equal(o.config.Command, []string{"0"}) {
		t.Errorf("%v, %q, %v", o.config.Forking, o.config.Command, err)
	}
}

// The log is JSON for programs and text for people, unless one is asked for.
func TestLogFormatGoesByStderr(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, tt := range []struct {
		stderr *os.File
		format string
		json   bool
	}{
		{terminal, "auto", false}, {terminal, "json", true}, {terminal, "text", false},
		{null, "auto", true}, {null, "json", true}, {null, "text", false},
	} {
		if isTerminal(int(tt.stderr.Fd())) != (tt.stderr == terminal) {
			t.Errorf("%s is a terminal: %v", tt.stderr.Name(), tt.stderr != terminal)
		}
		withStderr(t, tt.stderr, func() {
			o, err := parse([]string{"--log-format", tt.format, "x"}, nil)
			if err != nil || o.json != tt.json {
				t.Errorf("%s on %s: json %v, %v; want %v", tt.format, tt.stderr.Name(), o.json, err, tt.json)
			}
		})
	}
	if isTerminal(-1) {
		t.Error("no descriptor is a terminal")
	}
}

func TestRelativeTerminationLogInAFolderThatIsGone(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := parse([]string{"--termination-log", "log", "x"}, nil); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "--termination-log: ") {
		t.Errorf("relative: %v", err)
	}
	if o, err := parse([]string{"--termination-log", "/log", "x"}, nil); err != nil || o.config.TerminationLog != "/log" {
		t.Errorf("absolute: %q, %v", o.config.TerminationLog, err)
	}
}

func TestSettingNames(t *testing.T) {
	for name, variable := range map[string]string{"grace": "DRAINIT_GRACE", "parent-death-signal": "DRAINIT_PARENT_DEATH_SIGNAL"} {
		if got := (setting{name: name}).variable(); got != variable {
			t.Errorf("%s: %s", name, got)
		}
	}
}
