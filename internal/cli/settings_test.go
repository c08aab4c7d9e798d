package cli

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/machine"
	"drainit/internal/signals"
	"drainit/supervisor"
)

var settings = new(options).settings()

// plain are the options of `drainit -- x`.
func plain() options {
	return options{json: defaults().json, Config: supervisor.Config{
		Grace: 35 * time.Second, Rewrites: signals.Rewrites{}, Command: []string{"x"},
	}}
}

// wantParsed checks all options of a command line, but for the worker's environment and what is
// said of the settings.
func wantParsed(t *testing.T, args, environ []string, want options) {
	t.Helper()
	got, err := parse(args, environ)
	want.Config.Env, want.Config.Given, want.Config.Doubts = got.Config.Env, got.Config.Given, got.Config.Doubts // TestDoubts
	if want.Config.Mode == forward.ModeNone {
		want.Config.Unsent = got.Config.Unsent // TestForwardNone
	}
	if want.Config.Grace == plain().Config.Grace {
		want.Config.Limit = 30 * time.Second
	}
	if err != nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("%q in %q: %v\ngot  %+v\nwant %+v", args, environ, err, *got, want)
	}
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
		{variable, nil, []string{variable + "S=bad", "X" + variable + "=bad", variable, variable + "=" + value, variable + "=bad"}},
	}
	if !s.toggle {
		all = append(all, way{flag, []string{flag, value}, nil})
	}
	if s.short != "" {
		all = append(all, way{flag, []string{"-" + s.short, value}, nil}, way{flag, []string{"-" + s.short + value}, nil})
	}
	return all
}

// both is a field after two values: a list has both, of others the last one wins.
func both(first, second any) (field any, list bool) {
	switch first := first.(type) {
	case []unix.Signal:
		return slices.Concat(first, second.([]unix.Signal)), true
	case []int:
		return slices.Concat(first, second.([]int)), true
	case signals.Rewrites:
		all := maps.Clone(first)
		maps.Copy(all, second.(signals.Rewrites))
		return all, true
	}
	return second, false
}

// Each setting takes each value in every way, and sets nothing else.
func TestSettings(t *testing.T) {
	wantParsed(t, []string{"x"}, nil, plain())
	for _, s := range settings {
		tt := settingTests[s.name]
		after := func(field any) options {
			o := plain()
			reflect.ValueOf(tt.field(&o)).Elem().Set(reflect.ValueOf(field))
			return o
		}
		for value, field := range tt.good {
			for _, way := range ways(s, value) {
				wantParsed(t, append(way.args, "x"), way.environ, after(field))
			}
			for second, field2 := range tt.good {
				field, list := both(field, field2)
				wantParsed(t, []string{"--" + s.name + "=" + value, "--" + s.name + "=" + second, "x"}, nil, after(field))
				if list {
					wantParsed(t, []string{"x"}, []string{s.variable() + "= " + value + " , " + second + "\t"}, after(field))
				}
			}
		}
		for value, problem := range tt.bad {
			for _, way := range ways(s, value) {
				if _, err := parse(append(way.args, "x"), way.environ); err == nil || err.Error() != way.source+": "+problem {
					t.Errorf("%q %q:\ngot  %v\nwant %s: %s", way.args, way.environ, err, way.source, problem)
				}
			}
		}
		if len(tt.good) == 0 || len(tt.bad) == 0 {
			t.Errorf("settings_table_test.go has %d good and %d bad values of %s: at least one of each", len(tt.good), len(tt.bad), s.name)
		}
	}
	if len(settingTests) != len(settings) {
		t.Errorf("%d tests, %d settings", len(settingTests), len(settings))
	}
}

// An empty flag is a bad value, and an empty variable none. A list has no empty place, and is
// no value of a flag.
func TestEmptyValuesAndLists(t *testing.T) {
	for _, s := range settings {
		wantParsed(t, []string{"x"}, []string{s.variable() + "="}, plain())
		if _, err := parse([]string{"--" + s.name + "=", "x"}, nil); err == nil {
			t.Errorf("--%s= is taken", s.name)
		}
		for value := range settingTests[s.name].good {
			for _, list := range []string{value + ",", "," + value, " "} {
				if _, err := parse([]string{"x"}, []string{s.variable() + "=" + list}); err == nil {
					t.Errorf("%s=%q is taken", s.variable(), list)
				}
			}
			if _, err := parse([]string{"--" + s.name + "=" + value + "," + value, "x"}, nil); err == nil {
				t.Errorf("the flag --%s takes a list: if any text is good, the setting is one with empty", s.name)
			}
		}
	}
}

// The log is JSON for programs and text for people.
func TestLogFormatGoesByStderr(t *testing.T) {
	for name, json := range map[string]bool{"/dev/ptmx": false, os.DevNull: true} {
		file := must(os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0))
		defer file.Close()
		withStderr(t, file, func() {
			if o, err := parse([]string{"x"}, nil); err != nil || o.json != json {
				t.Errorf("%s: json %v, %v; want %v", name, o.json, err, json)
			}
		})
	}
}

// The worker's own limit sets the grace period where none is given, and is what a warning is about: its own
// variable never ends the start.
func TestWorkersLimit(t *testing.T) {
	const unread = ": want 25s, 25 (seconds) or infinity; the grace period is 35s"
	killed := func(after, own, write string) string {
		return "the worker has " + after + " from the stop signal to SIGKILL, less than 4s after its own limit, " + own + ", to give its jobs back: write --grace " + write + ", or DRAINIT_GRACE=" + write
	}
	for _, tt := range []struct {
		args, environ string
		grace         time.Duration
		warning       string
	}{
		{"", "OJS_SHUTDOWN_GRACE_PERIOD=10", 14 * time.Second, ""},
		{"", "OJS_GRACE_PERIOD=25s", 29 * time.Second, ""}, // of Kubernetes' 30 s
		{"", "OJS_SHUTDOWN_TIMEOUT=1m", 64 * time.Second, ""},
		{"", "OJS_SHUTDOWN_TIMEOUT=1 OJS_GRACE_PERIOD=2 OJS_SHUTDOWN_GRACE_PERIOD=3", 7 * time.Second, ""},
		{"", "OJS_SHUTDOWN_TIMEOUT=1 OJS_GRACE_PERIOD=2", 6 * time.Second, ""},
		{"", "DRAINIT_GRACE= OJS_SHUTDOWN_GRACE_PERIOD= OJS_GRACE_PERIOD= OJS_SHUTDOWN_TIMEOUT=1", 5 * time.Second, ""},
		{"", "OJS_GRACE=1 MY_OJS_GRACE_PERIOD=1 OJS_GRACE_PERIOD", 35 * time.Second, ""},
		{"", "OJS_GRACE_PERIOD=0", 4 * time.Second, ""},
		{"", "OJS_GRACE_PERIOD=168h", 168*time.Hour + 4*time.Second, ""},
		{"", "OJS_GRACE_PERIOD=infinity", machine.Forever, ""},
		{"", "DRAINIT_GRACE=30 OJS_GRACE_PERIOD=26", 30 * time.Second, ""},
		{"", "DRAINIT_GRACE=30s", 30 * time.Second, ""},
		{"-t infinity", "OJS_GRACE_PERIOD=30", machine.Forever, ""},
		{"-t 4s", "OJS_GRACE_PERIOD=infinity", 4 * time.Second, ""},
		{"-t 30", "OJS_GRACE_PERIOD=27", 30 * time.Second, killed("30s", "OJS_GRACE_PERIOD=27", "31s")},
		{"", "DRAINIT_GRACE=4s OJS_SHUTDOWN_TIMEOUT=5s", 4 * time.Second, killed("4s", "OJS_SHUTDOWN_TIMEOUT=5s", "9s")},
		{"--stop-delay 5s", "OJS_GRACE_PERIOD=25", 29 * time.Second, killed("24s", "OJS_GRACE_PERIOD=25", "34s")},
		{"-t 0", "OJS_GRACE_PERIOD=PT25S", 0, `OJS_GRACE_PERIOD: invalid duration "PT25S": want 25s, 25 (seconds) or infinity; the grace period is 0s`},
		{"", "OJS_SHUTDOWN_GRACE_PERIOD=bad OJS_GRACE_PERIOD=1", 35 * time.Second, `OJS_SHUTDOWN_GRACE_PERIOD: invalid duration "bad"` + unread},
		{"", "OJS_SHUTDOWN_TIMEOUT=80_000", 35 * time.Second, `OJS_SHUTDOWN_TIMEOUT: invalid duration "80_000"` + unread},
		{"", "OJS_SHUTDOWN_TIMEOUT=30000000", 35 * time.Second, `OJS_SHUTDOWN_TIMEOUT: "30000000"` + tooLong + unread},
		{"", "OJS_SHUTDOWN_TIMEOUT=3600", 3604 * time.Second, ""},
		{"", "OJS_SHUTDOWN_TIMEOUT=100h", 360004 * time.Second, ""},
		{"", "OJS_SHUTDOWN_TIMEOUT=30000", 30004 * time.Second, "OJS_SHUTDOWN_TIMEOUT=30000 is read as seconds, 8h20m0s: if milliseconds were meant, write 30s"},
		{"-t 30", "OJS_SHUTDOWN_TIMEOUT=30000", 30 * time.Second, "OJS_SHUTDOWN_TIMEOUT=30000 is read as seconds, 8h20m0s: if milliseconds were meant, write 30s"},
	} {
		want := plain()
		want.Config.Grace, want.Config.Warning = tt.grace, tt.warning
		if tt.args == "--stop-delay 5s" {
			want.Config.StopDelay = 5 * time.Second
		}
		wantParsed(t, append(strings.Fields(tt.args), "x"), strings.Fields(tt.environ), want)
	}
}

func TestWorkersEnvironment(t *testing.T) {
	own := strings.Fields(`DRAINIT_GRACE DRAINIT_STOP_DELAY DRAINIT_STOP_SIGNAL DRAINIT_REMAP_EXIT DRAINIT_PARENT_DEATH_SIGNAL
		DRAINIT_REWRITE DRAINIT_FORWARD DRAINIT_FORKING DRAINIT_SECOND_STOP DRAINIT_HEALTH_ADDR DRAINIT_READY_PORT DRAINIT_LOG_FORMAT DRAINIT_LOG_LEVEL`)
	for _, name := range own {
		if got := workerEnv([]string{"A=1", name + "=x", name, name + "=", "B=2", name + "=x=y"}); !slices.Equal(got, []string{"A=1", "B=2", "UNDER_DRAINIT=1"}) {
			t.Errorf("%s: the worker gets %q", name, got)
		}
	}
	for _, s := range settings {
		if !slices.Contains(own, s.variable()) {
			t.Errorf("%s is missing here", s.variable())
		}
	}
	others := []string{
		"PATH=/bin", "DRAINIT_SERVICE_HOST=h", "DRAINIT_GRACE_X=1", "XDRAINIT_GRACE=1", "drainit_grace=1", "DRAINIT_", "DRAINIT=1", "DRAINIT_GROUP=1",
		"OJS_GRACE_PERIOD=5", "OJS_SHUTDOWN_GRACE_PERIOD=5", "OJS_SHUTDOWN_TIMEOUT=5", "EMPTY=", "NONE", "", "=", "TWICE=1", "TWICE=2", "SPACE= a b ",
	}
	if o, err := parse([]string{"x"}, append([]string{"DRAINIT_GRACE=1", "UNDER_DRAINIT=0"}, others...)); err != nil || !slices.Equal(o.Config.Env, append(others, "UNDER_DRAINIT=1")) {
		t.Errorf("%v\ngot  %q\nwant %q", err, o.Config.Env, others)
	}
}

// What is said of the settings is what was given, and where: a flag wins.
func TestSettingsAreSaidAsGiven(t *testing.T) {
	for _, tt := range []struct{ args, environ, want string }{
		{"x", "DRAINIT_GRACE= DRAINIT_SERVICE_HOST=h", ""},
		{"-t9 -vw -r HUP:0 --rewrite=TERM:QUIT --forking -g x", "DRAINIT_GRACE=1 DRAINIT_REMAP_EXIT=3,4",
			"--grace=9 DRAINIT_REMAP_EXIT=3 DRAINIT_REMAP_EXIT=4 --rewrite=HUP:0 --rewrite=TERM:QUIT --forward=group --forking=true --log-level=debug"},
		{"x", "OJS_GRACE_PERIOD=20", "OJS_GRACE_PERIOD=20 plus 4s"},
		{"x", "OJS_GRACE_PERIOD=inf", "OJS_GRACE_PERIOD=inf"},
	} {
		if o, err := parse(strings.Fields(tt.args), strings.Fields(tt.environ)); err != nil || strings.Join(o.Config.Given, " ") != tt.want {
			t.Errorf("%s %s: %q, %v; want %s", tt.environ, tt.args, o.Config.Given, err, tt.want)
		}
	}
}

// A grace period that was chosen was chosen with the platform's limit in mind.
func TestForwardNone(t *testing.T) {
	const delay = "a stop delay of 5s has no effect, since the platform signals each process itself (%s)"
	for _, tt := range []struct {
		args, environ string
		mode          forward.Mode
		grace, limit  time.Duration
		unsent        string
		delayed       bool
	}{
		{"", "", forward.ModeAuto, 35 * time.Second, 30 * time.Second, "", false},
		{"-t 35s", "", forward.ModeAuto, 35 * time.Second, 0, "", false},
		{"-t infinity", "", forward.ModeAuto, machine.Forever, 0, "", false},
		{"--forward none -t 20s", "", forward.ModeNone, 20 * time.Second, 0, "--forward=none", false},
		{"--second-stop force", "DRAINIT_FORWARD=none", forward.ModeNone, 35 * time.Second, 30 * time.Second, "DRAINIT_FORWARD=none", false},
		{"--forward none --stop-delay 5s", "", forward.ModeNone, 35 * time.Second, 30 * time.Second, "--forward=none", true},
	} {
		o, err := parse(append(strings.Fields(tt.args), "x"), strings.Fields(tt.environ))
		var doubts []string
		if tt.delayed {
			doubts = []string{fmt.Sprintf(delay, tt.unsent)}
		}
		if c := o.Config; err != nil || c.Mode != tt.mode || c.Grace != tt.grace || c.Limit != tt.limit ||
			c.Unsent != tt.unsent || c.StopDelay != 0 || !slices.Equal(c.Doubts, doubts) {
			t.Errorf("%q in %q: %v, %+v", tt.args, tt.environ, err, c)
		}
	}
}

// A variable of drainit's prefix that sets nothing is named, with those that do, and a number without a unit is
// asked about where it is more than an hour.
func TestDoubts(t *testing.T) {
	const asks = " is read as seconds, 6h56m40s: if milliseconds were meant, write 25s"
	for _, tt := range []struct{ args, environ, want string }{
		{"", "DRAINIT_GRACE=8s DRAINIT_LOG_LEVEL=info DRAINIT_FORKING=1 OTHER=1 DRAINITX=1", ""},
		{"", "DRAINIT_GRACE_PERIOD=80s", "DRAINIT_GRACE_PERIOD: no setting of drainit's, which are DRAINIT_GRACE, "},
		{"", "DRAINIT_FOO=1", "DRAINIT_FOO: no setting of drainit's, which are DRAINIT_GRACE, "},
		{"", "DRAINIT_TERMINATION_LOG=x", "DRAINIT_TERMINATION_LOG is no longer a setting: write terminationMessagePolicy"},
		{"", "DRAINIT_FOO=1 DRAINIT_BAR=2", "DRAINIT_FOO, DRAINIT_BAR: no setting of drainit's, which are "},
		{"", "DRAINIT_=1", "DRAINIT_: no setting of drainit's, which are "},
		// What Kubernetes makes of services that are called drainit and drainit-web.
		{"", "DRAINIT_SERVICE_HOST=10.0.0.1 DRAINIT_SERVICE_PORT=80 DRAINIT_SERVICE_PORT_HTTP=80 DRAINIT_PORT=tcp://10.0.0.1:80 DRAINIT_PORT_80_TCP=tcp://10.0.0.1:80 " +
			"DRAINIT_PORT_80_TCP_PROTO=tcp DRAINIT_PORT_80_TCP_ADDR=10.0.0.1 DRAINIT_WEB_SERVICE_HOST=10.0.0.2 DRAINIT_WEB_PORT=udp://10.0.0.2:53 DRAINIT_WEB_PORT_53_UDP_PORT=53", ""},
		{"", "DRAINIT_PORT=80", "DRAINIT_PORT: no setting of drainit's, which are "},
		{"--grace=25000", "", "--grace=25000" + asks},
		{"--grace=3601", "", "--grace=3601 is read as seconds, 1h0m1s: if milliseconds were meant, write 3.601s"},
		{"--grace=3600 --stop-delay=100", "", ""},
		{"--grace=infinity", "", ""},
		{"", "DRAINIT_GRACE= DRAINIT_SERVICE_HOST=h", "DRAINIT_GRACE is empty, and counts as not set"},
		{"--rewrite=TERM:KILL", "", "--rewrite TERM:KILL: SIGTERM kills the worker at once, with its work"},
		{"", "DRAINIT_REWRITE=KILL:TERM,31:1", "--rewrite KILL:TERM has no effect: drainit can't see SIGKILL, or never passes it on"},
		{"-r17:1 -r31:1 -r13:0", "", "--rewrite 17:1 has no effect: drainit can't see SIGCHLD, or never passes it on"},
		{"--grace=100h", "DRAINIT_STOP_DELAY=25000", "DRAINIT_STOP_DELAY=25000" + asks},
	} {
		o, err := parse(append(strings.Fields(tt.args), "x"), strings.Fields(tt.environ))
		got := strings.Join(o.Config.Doubts, "\n")
		if err != nil || !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" || strings.Contains(got, "\n") {
			t.Errorf("%s %s: %v, %q, want %q", tt.args, tt.environ, err, got, tt.want)
		}
	}
}
