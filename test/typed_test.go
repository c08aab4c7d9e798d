package test

import (
	"fmt"
	"strings"
	"testing"
)

// What people type gives the settings that the usual spelling gives.
func TestValuesAsPeopleTypeThem(t *testing.T) {
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
			want := withoutPid(settingsLine(t, []string{usual}, nil))
			if got := withoutPid(settingsLine(t, typed.flags, nil)); got != want {
				t.Errorf("%q:\ngot  %s\nwant %s", typed.flags, got, want)
			}
			if got := withoutPid(settingsLine(t, nil, []string{typed.env})); got != want {
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
		r := runToEnd(t, Launch{NoPID1: true, Args: []string{"--log-format=text", "--log-level=" + level, "--health-addr=192.0.2.77:1", "true"}})
		if r.status != 125 || len(linesOf(r.err)) != 1 {
			t.Errorf("%s: exit status %d, stderr %q", level, r.status, r.err)
		}
	}
}

// A port alone is served on every address, and localhost is the loopback's.
func TestHealthAddressAsPeopleTypeIt(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"", "localhost:"} {
		port := reservePort(t)
		p := probed{addr: fmt.Sprintf("127.0.0.1:%d", port)}
		p.Init = launch(t, Launch{Args: append([]string{"--health-addr", fmt.Sprint(host, port)}, endsByUSR1()...)})
		p.waitOut(`ready`)
		p.waitRunning()
	}
}
