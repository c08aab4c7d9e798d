package cli

import (
	"fmt"
	"strings"
	"testing"

	"drainit/test/harness"
)

// What people type gives the settings that the usual spelling gives.
func TestValuesAsPeopleTypeThem(t *testing.T) {
	harness.Usual(t)
	for usual, typed := range map[string]struct {
		flags []string
		env   string
	}{
		"--grace=20s":       {[]string{"--grace=20S"}, "DRAINIT_GRACE=20S"},
		"--grace=infinity":  {[]string{"--grace=Infinity"}, "DRAINIT_GRACE=inf"},
		"--forward=group":   {[]string{"--forward=Group"}, "DRAINIT_FORWARD=GROUP"},
		"--rewrite=1:0":     {[]string{"-r13:0", "-r1:0", "-rCHLD:0"}, "DRAINIT_REWRITE=9:0,19:0,23:0,27:0,1:0"},
		"--log-format=text": {[]string{"--log-format=Text", "--log-level=DEBUG"}, "DRAINIT_LOG_FORMAT=TEXT"},
	} {
		t.Run(usual, func(t *testing.T) {
			t.Parallel()
			want := withoutPid(harness.SettingsLine(t, []string{usual}, nil))
			if got := withoutPid(harness.SettingsLine(t, typed.flags, nil)); got != want {
				t.Errorf("%q:\ngot  %s\nwant %s", typed.flags, got, want)
			}
			if got := withoutPid(harness.SettingsLine(t, nil, []string{typed.env})); got != want {
				t.Errorf("%s:\ngot  %s\nwant %s", typed.env, got, want)
			}
		})
	}
}

// withoutPid is a line without the pid that ends it.
func withoutPid(line string) string { return strings.TrimRight(line, "0123456789") }

func TestWarningIsTheLevelWarn(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"Warning", "warning", "WARN"} {
		r := harness.RunToEnd(t, harness.Launch{NoPID1: true, Args: []string{"--log-format=text", "--log-level=" + level, "--health-addr=192.0.2.77:1", "true"}})
		if r.Status != 125 || len(harness.LinesOf(r.Err)) != 1 {
			t.Errorf("%s: exit status %d, stderr %q", level, r.Status, r.Err)
		}
	}
}

// A port alone is served on every address, and localhost is the loopback's.
func TestHealthAddressAsPeopleTypeIt(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"", "localhost:"} {
		port := harness.ReservePort(t)
		p := harness.Probed{Addr: fmt.Sprintf("127.0.0.1:%d", port)}
		p.Init = harness.Run(t, harness.Launch{Args: append([]string{"--health-addr", fmt.Sprint(host, port)}, harness.EndsByUSR1()...)})
		p.WaitOut(`ready`)
		p.WaitRunning()
	}
}

// The line says what is missing once. A word alone may be a mistyped verb.
func TestCommandThatIsNotFoundGetsAHint(t *testing.T) {
	harness.Usual(t)
	const notFound, verbs = "not found in PATH", "not found in PATH; drainit --help lists drainit's own verbs"
	for command, want := range map[string]string{
		"statsu": verbs, "stauts --json": verbs, "-- status --ready": verbs,
		"help me": notFound, "./statsu": "there is no such file",
	} {
		t.Run(command, func(t *testing.T) {
			args := strings.Fields(command)
			want := fmt.Sprintf("drainit: error: cannot run %q: %s\n", strings.Fields(strings.TrimPrefix(command, "-- "))[0], want)
			r := harness.RunToEnd(t, harness.Launch{NoPID1: true, Env: []string{"PATH=/bin", "DRAINIT_LOG_FORMAT=text"}, Args: args})
			if r.Status != 127 || r.Out != "" || r.Err != want {
				t.Errorf("exit status %d\ngot  %q\nwant %q", r.Status, r.Err, want)
			}
		})
	}
}
