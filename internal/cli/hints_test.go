package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestHints(t *testing.T) {
	for command, want := range map[string]string{
		"help": "--help", "version": "--version", "help --all": "--help",
		"statsu": "status", "status": "status", "Status": "status", "statuss --json": "status", "state": "status",
		"quit": "quiet", "quite --sleep 5s": "quiet", "resum": "resume", "stopp --force": "stop", "top": "stop",
		"help me": "", "statsu now": "", "node": "", "node --version": "", "helping": "", "Help": "", "st": "stop", "s": "", "nginx": "", "./status": "", "/help": "",
	} {
		got := hintFor(strings.Fields(command))
		if want != "" {
			want = "; did you mean drainit " + want + "?"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	if got := hintFor([]string{""}); got != "" {
		t.Errorf("the empty name: %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "a", 0}, {"", "ab", 2}, {"ab", "", 2}, {"a", "b", 1}, {"ab", "ba", 2}, {"stop", "stpo", 2}, {"abc", "abd", 1}, {"kitten", "sitting", 3},
		{"abcd", "bcde", 2}, {"status", "statsu", 2}, {"abc", "abcdef", 3}, {strings.Repeat("a", 1<<20), "a", 3},
	} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%.9s and %.9s: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestVariablesThatWereMeantForASetting(t *testing.T) {
	for name, want := range map[string]string{
		"GRACE_PERIOD": "DRAINIT_GRACE", "GRCE": "DRAINIT_GRACE", "GRACES": "DRAINIT_GRACE", "LOGLEVEL": "DRAINIT_LOG_LEVEL", "LOG__LEVEL": "DRAINIT_LOG_LEVEL",
		"STOP_SIGNALS": "DRAINIT_STOP_SIGNAL", "STOPSIGNAL": "DRAINIT_STOP_SIGNAL", "HEALTH_ADDRESS": "", "HEALTH_ADR": "DRAINIT_HEALTH_ADDR", "HEALTHADDR": "DRAINIT_HEALTH_ADDR",
		"LOG_LEVL": "DRAINIT_LOG_LEVEL", "REWRITES": "DRAINIT_REWRITE", "SECOND_STOPS": "DRAINIT_SECOND_STOP", "GRACE_": "DRAINIT_GRACE",
		"VERBOSE": "DRAINIT_LOG_LEVEL=debug", "GROUP": "DRAINIT_FORWARD=group", "SINGLE_CHILD": "DRAINIT_FORWARD=worker", "WARN_REAPED": "the flag --warn-reaped", "PAUSE": "the flag --pause",
		"FOO": "", "": "", "GRACEFUL": "", "GRACE": "", "VERSION": "", "X": "", "SLEEP": "",
		"SERVICE_HOST": "", "GRACE_SERVICE_HOST": "", "GRACE_SERVICE_PORT": "", "GRACE_SERVICE_PORT_HTTP": "", "PORT": "", "GRACE_PORT": "",
		"GRACE_PORT_80_TCP": "", "GRACE_PORT_80_TCP_ADDR": "", "GRACE_PORT_80_TCP_PORT": "", "GRACE_PORT_80_TCP_PROTO": "", "GRACE_PORT_53_UDP": "", "GRACE_PORT_9_SCTP_ADDR": "",
		"GRACE_PORT_X_TCP": "DRAINIT_GRACE", "GRACE_PORT_80": "DRAINIT_GRACE", "GRACE_PORT_80_ICMP": "DRAINIT_GRACE", "GRACE_PORT_70000_TCP": "DRAINIT_GRACE",
	} {
		var lines []string
		if want != "" {
			lines = []string{"DRAINIT_" + name + " is not a setting of drainit: " + want + " is"}
		}
		if got := warnings([]string{"A=1", "DRAINIT_" + name + "=x", "X" + "DRAINIT_" + name + "=x"}); !slices.Equal(got, lines) {
			t.Errorf("%s: %q, want %q", name, got, lines)
		}
		if got := warnings([]string{"DRAINIT_" + name + "=", "DRAINIT_" + name}); got != nil {
			t.Errorf("%s without a value: %q", name, got)
		}
	}
}
