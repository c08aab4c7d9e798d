package cli

import (
	"slices"
	"testing"
)

func TestVariablesThatAreNoSetting(t *testing.T) {
	for name, warned := range map[string]bool{
		"DRAINIT_GRACE_PERIOD": true, "DRAINIT_GRCE": true, "DRAINIT_VERBOSE": true, "DRAINIT_": true, "DRAINIT_FOO": true,
		"DRAINIT_GRACE": false, "DRAINIT_LOG_LEVEL": false, "XDRAINIT_GRACES": false, "DRAINITGRACE": false, "A": false,
		"DRAINIT_SERVICE_HOST": false, "DRAINIT_SERVICE_PORT_HTTP": false, "DRAINIT_PORT": false, "DRAINIT_A_PORT_80_TCP_ADDR": false,
	} {
		var lines []string
		if warned {
			lines = []string{name + " is not a setting of drainit; drainit --help lists them"}
		}
		if got := warnings([]string{"A=1", name + "=x"}); !slices.Equal(got, lines) {
			t.Errorf("%s: %q, want %q", name, got, lines)
		}
		if got := warnings([]string{name + "=", name}); got != nil {
			t.Errorf("%s without a value: %q", name, got)
		}
	}
}
