package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"drainit/supervisor"
)

func TestWorkersGrace(t *testing.T) {
	const takes = ": want 25s, 25 (seconds), 0 (kill at once) or infinity; or give --grace"
	tests := []struct {
		environ string
		want    time.Duration
		err     string
	}{
		{"", 30 * time.Second, ""},
		{"OJS_SHUTDOWN_GRACE_PERIOD=10", 15 * time.Second, ""},
		{"OJS_GRACE_PERIOD=10s", 15 * time.Second, ""},
		{"OJS_SHUTDOWN_TIMEOUT=1m", 65 * time.Second, ""},
		{"OJS_SHUTDOWN_TIMEOUT=1 OJS_GRACE_PERIOD=2 OJS_SHUTDOWN_GRACE_PERIOD=3", 8 * time.Second, ""},
		{"OJS_SHUTDOWN_TIMEOUT=1 OJS_GRACE_PERIOD=2", 7 * time.Second, ""},
		{"OJS_SHUTDOWN_GRACE_PERIOD= OJS_GRACE_PERIOD= OJS_SHUTDOWN_TIMEOUT=1", 6 * time.Second, ""},
		{"OJS_SHUTDOWN_GRACE_PERIOD= OJS_GRACE_PERIOD= OJS_SHUTDOWN_TIMEOUT=", 30 * time.Second, ""},
		{"OJS_GRACE=1 MY_OJS_GRACE_PERIOD=1 OJS_GRACE_PERIOD", 30 * time.Second, ""},
		{"OJS_GRACE_PERIOD=0", 5 * time.Second, ""},
		{"OJS_GRACE_PERIOD=168h", 168*time.Hour + 5*time.Second, ""},
		{"OJS_GRACE_PERIOD=infinity", supervisor.Forever, ""},
		{"DRAINIT_GRACE= OJS_GRACE_PERIOD=10", 15 * time.Second, ""},
		{"DRAINIT_GRACE=9 OJS_GRACE_PERIOD=10", 9 * time.Second, ""},
		{"DRAINIT_GRACE=30 OJS_GRACE_PERIOD=10", 30 * time.Second, ""},
		{"DRAINIT_GRACE=9 OJS_GRACE_PERIOD=bad", 9 * time.Second, ""},
		{"OJS_SHUTDOWN_GRACE_PERIOD=1 OJS_GRACE_PERIOD=bad", 6 * time.Second, ""},
		{"OJS_SHUTDOWN_GRACE_PERIOD=bad OJS_GRACE_PERIOD=1", 0, `OJS_SHUTDOWN_GRACE_PERIOD: invalid duration "bad"` + takes},
		{"OJS_GRACE_PERIOD=soon", 0, `OJS_GRACE_PERIOD: invalid duration "soon"` + takes},
		{"OJS_SHUTDOWN_TIMEOUT=30000000", 0, `OJS_SHUTDOWN_TIMEOUT: "30000000" is more than a week (milliseconds meant?)` + takes},
	}
	for _, tt := range tests {
		o, err := parse([]string{"x"}, strings.Fields(tt.environ))
		switch {
		case tt.err != "" && (err == nil || err.Error() != tt.err):
			t.Errorf("%s:\ngot  %v\nwant %s", tt.environ, err, tt.err)
		case tt.err == "" && (err != nil || o.config.Grace != tt.want):
			t.Errorf("%s: %v, %v; want %v", tt.environ, o.config.Grace, err, tt.want)
		}
	}
	if o, err := parse([]string{"-t", "0", "x"}, []string{"OJS_GRACE_PERIOD=bad"}); err != nil || o.config.Grace != 0 {
		t.Errorf("a flag wins: %v, %v", o.config.Grace, err)
	}
}

func TestLookupEnv(t *testing.T) {
	environ := []string{"A=1", "AB=2", "B", "C=", "A=3", "D=x=y", "=E=z"}
	for name, want := range map[string]struct {
		value string
		ok    bool
	}{
		"A": {"1", true}, "AB": {"2", true}, "B": {"", false}, "C": {"", true}, "D": {"x=y", true}, "E": {"", false}, "a": {"", false},
	} {
		if value, ok := lookupEnv(environ, name); value != want.value || ok != want.ok {
			t.Errorf("%s: %q, %v; want %q, %v", name, value, ok, want.value, want.ok)
		}
	}
}

func TestWorkerGetsNoneOfDrainitsVariables(t *testing.T) {
	own := []string{
		"DRAINIT_TERMINATION_LOG", "DRAINIT_GRACE", "DRAINIT_STOP_DELAY", "DRAINIT_STOP_SIGNAL", "DRAINIT_REMAP_EXIT", "DRAINIT_PARENT_DEATH_SIGNAL",
		"DRAINIT_REWRITE", "DRAINIT_FORWARD", "DRAINIT_FORKING", "DRAINIT_SECOND_STOP", "DRAINIT_HEALTH_ADDR", "DRAINIT_LOG_FORMAT", "DRAINIT_LOG_LEVEL",
	}
	for _, name := range own {
		if got := workerEnv([]string{"A=1", name + "=x", name, name + "=", "B=2", name + "=x=y"}); !slices.Equal(got, []string{"A=1", "B=2"}) {
			t.Errorf("%s: the worker gets %q", name, got)
		}
	}
	if len(own) != len(settings) {
		t.Errorf("%d variables, %d settings", len(own), len(settings))
	}
}

func TestWorkerGetsAllOtherVariables(t *testing.T) {
	environ := []string{
		"PATH=/bin", "DRAINIT_SERVICE_HOST=h", "DRAINIT_PORT=80", "DRAINIT_GRACE_X=1", "XDRAINIT_GRACE=1", "drainit_grace=1", "DRAINIT_", "DRAINIT=1",
		"OJS_GRACE_PERIOD=5", "OJS_SHUTDOWN_GRACE_PERIOD=5", "OJS_SHUTDOWN_TIMEOUT=5", "EMPTY=", "NONE", "", "=", "TWICE=1", "TWICE=2", "SPACE= a b ",
		"DRAINIT_VERBOSE=1", "DRAINIT_GROUP=1",
	}
	o, err := parse([]string{"x"}, environ)
	if err != nil || !slices.Equal(o.config.Env, environ) {
		t.Errorf("%v\ngot  %q\nwant %q", err, o.config.Env, environ)
	}
}
