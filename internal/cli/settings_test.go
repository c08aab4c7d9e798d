package cli

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
	"drainit/supervisor"
	"drainit/test/harness/rows"
)

var settings = new(options).settings()

// plain are the options of `drainit -- x`.
func plain() options {
	return options{json: defaults().json, Config: supervisor.Config{
		Grace: 35 * time.Second, Rewrites: signals.Rewrites{}, Command: []string{"x"},
	}}
}

// way is how a value can be given to a setting.
type way struct {
	source        string // the flag or the variable, as an error names it
	args, environ []string
}

func ways(s setting, value string) []way {
	flag, variable := "--"+s.name, s.variable()
	all := []way{
		{flag, []string{flag + "=" + value}, nil},
		{flag, []string{flag + "=" + value}, []string{variable + "=bad"}},
		{variable, nil, []string{variable + "=" + value}},
		{variable, nil, []string{variable + "S=bad", "X" + variable + "=bad", variable,
			variable + "=" + value, variable + "=bad"}},
	}
	if !s.toggle {
		all = append(all, way{flag, []string{flag, value}, nil})
	}
	if s.short != "" {
		all = append(all, way{flag, []string{"-" + s.short, value}, nil},
			way{flag, []string{"-" + s.short + value}, nil})
	}
	return all
}

// valued are the rows of settings.tsv about one setting: a value, what it sets, and what is wrong with it.
func valued(t *testing.T, s setting) (good, bad [][]string) {
	t.Helper()
	for _, row := range rows.Read(t, "testdata/settings.tsv", 4) {
		switch {
		case row[0] != s.name:
		case row[3] == "":
			good = append(good, row[1:])
		default:
			bad = append(bad, row[1:])
		}
	}
	if len(good) == 0 || len(bad) == 0 {
		t.Errorf("settings.tsv has %d good and %d bad values of %s: at least one of each",
			len(good), len(bad), s.name)
	}
	return good, bad
}

// wantOutcome checks what parse makes of a command line.
func wantOutcome(t *testing.T, args, environ []string, want string) *options {
	t.Helper()
	got, o := outcome(args, environ)
	if got != want {
		t.Errorf("%q in %q:\ngot  %s\nwant %s", args, environ, got, want)
	}
	return o
}

// Each setting takes each value in every way, and sets nothing else. Of two values a list has both, of
// others the last one wins.
func TestSettings(t *testing.T) {
	for _, s := range settings {
		good, bad := valued(t, s)
		for _, row := range good {
			for _, way := range ways(s, row[0]) {
				wantOutcome(t, append(way.args, "x"), way.environ, row[1])
			}
			for _, second := range good {
				twice := []string{"--" + s.name + "=" + row[0], "--" + s.name + "=" + second[0], "x"}
				want := second[1]
				if s.repeat {
					want, _ = outcome([]string{"x"},
						[]string{s.variable() + "= " + row[0] + " , " + second[0] + "\t"})
				}
				wantOutcome(t, twice, nil, want)
			}
		}
		for _, row := range bad {
			for _, way := range ways(s, row[0]) {
				wantOutcome(t, append(way.args, "x"), way.environ, way.source+": "+row[2])
			}
		}
	}
}

// An empty flag is a bad value, and an empty variable none. A list has no empty place, and is
// no value of a flag.
func TestEmptyValuesAndLists(t *testing.T) {
	for _, s := range settings {
		wantOutcome(t, []string{"x"}, []string{s.variable() + "="}, "")
		if _, err := parse([]string{"--" + s.name + "=", "x"}, nil); err == nil {
			t.Errorf("--%s= is taken", s.name)
		}
		good, _ := valued(t, s)
		for _, row := range good {
			for _, list := range []string{row[0] + ",", "," + row[0], " "} {
				if _, err := parse([]string{"x"}, []string{s.variable() + "=" + list}); err == nil {
					t.Errorf("%s=%q is taken", s.variable(), list)
				}
			}
			if _, err := parse([]string{"--" + s.name + "=" + row[0] + "," + row[0], "x"}, nil); err == nil {
				t.Errorf("the flag --%s takes a list: if any text is good, the setting is one with empty",
					s.name)
			}
		}
	}
}

// The log is JSON for programs and text for people.
func TestLogFormat(t *testing.T) {
	for name, auto := range map[string]bool{"/dev/ptmx": false, os.DevNull: true} {
		file := must(os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0))
		defer file.Close()
		withStderr(t, file, func() {
			for format, json := range map[string]bool{"": auto, "auto": auto, "json": true, "JSON": true,
				"text": false, "Text": false} {
				if o, err := parse([]string{"x"}, []string{"DRAINIT_LOG_FORMAT=" + format}); err != nil ||
					o.json != json {
					t.Errorf("%s, %q: json %v, %v; want %v", name, format, o.json, err, json)
				}
			}
		})
	}
}

func TestWorkersEnvironment(t *testing.T) {
	own := strings.Fields(`DRAINIT_GRACE DRAINIT_STOP_DELAY DRAINIT_STOP_SIGNAL DRAINIT_REMAP_EXIT ` +
		`DRAINIT_PARENT_DEATH_SIGNAL
		DRAINIT_REWRITE DRAINIT_FORWARD DRAINIT_FORKING DRAINIT_SECOND_STOP DRAINIT_HEALTH_ADDR
		DRAINIT_READY_PORT DRAINIT_LOG_FORMAT DRAINIT_LOG_LEVEL`)
	for _, name := range own {
		if got := workerEnv([]string{"A=1", name + "=x", name, name + "=", "B=2",
			name + "=x=y"}); !slices.Equal(got, []string{"A=1", "B=2", "UNDER_DRAINIT=1"}) {
			t.Errorf("%s: the worker gets %q", name, got)
		}
	}
	for _, s := range settings {
		if !slices.Contains(own, s.variable()) {
			t.Errorf("%s is missing here", s.variable())
		}
	}
	others := []string{
		"PATH=/bin", "DRAINIT_SERVICE_HOST=h", "DRAINIT_GRACE_X=1", "XDRAINIT_GRACE=1", "drainit_grace=1",
		"DRAINIT_", "DRAINIT=1", "DRAINIT_GROUP=1",
		"OJS_GRACE_PERIOD=5", "OJS_SHUTDOWN_GRACE_PERIOD=5", "OJS_SHUTDOWN_TIMEOUT=5", "EMPTY=", "NONE", "",
		"=", "TWICE=1", "TWICE=2", "SPACE= a b ",
	}
	if o, err := parse([]string{"x"}, append([]string{"DRAINIT_GRACE=1", "UNDER_DRAINIT=0"},
		others...)); err != nil || !slices.Equal(o.Config.Env, append(others, "UNDER_DRAINIT=1")) {
		t.Errorf("%v\ngot  %q\nwant %q", err, o.Config.Env, others)
	}
}
