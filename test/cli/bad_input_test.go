package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"drainit/test/harness"
)

// badInputs are command lines and environments that make no sense, and what the
// line about each must name: the flag or the variable, and the value.
var badInputs = []struct {
	flags []string
	env   string
	names []string
}{
	{[]string{"--grace=abc"}, "", []string{"--grace", `"abc"`, "infinity"}},
	{[]string{"-t", "abc"}, "", []string{"--grace", `"abc"`}},
	{[]string{"--grace="}, "", []string{"--grace", `""`}},
	{[]string{"--grace=-5s"}, "", []string{"--grace", `"-5s"`}},
	{[]string{"--grace=-1"}, "", []string{"--grace", `"-1"`}},
	{[]string{"--grace=+5"}, "", []string{"--grace", `"+5"`}},
	{[]string{"--grace=25 s"}, "", []string{"--grace", `"25 s"`}},
	{[]string{"--grace=1d"}, "", []string{"--grace", `"1d"`}},
	{[]string{"--grace=1e3"}, "", []string{"--grace", `"1e3"`}},
	{[]string{"--grace=NaN"}, "", []string{"--grace", `"NaN"`}},
	{[]string{"--grace=0x10"}, "", []string{"--grace", `"0x10"`}},
	{[]string{"--grace=25000000"}, "", []string{"--grace", `"25000000"`, "milliseconds"}},
	{[]string{"--grace=604801"}, "", []string{"--grace", `"604801"`, "week"}},
	{[]string{"--grace=168h1ns"}, "", []string{"--grace", `"168h1ns"`, "week"}},
	{[]string{"--grace=99999999999999999999999"}, "", []string{"--grace", `"99999999999999999999999"`}},
	{[]string{"--grace=9223372036854775807"}, "", []string{"--grace", `"9223372036854775807"`, "week"}},
	{[]string{"--stop-delay=soon"}, "", []string{"--stop-delay", `"soon"`}},
	{[]string{"--stop-delay=infinity"}, "", []string{"--stop-delay", `"infinity"`}},
	{[]string{"--stop-delay=31"}, "", []string{"--stop-delay", "31s", "30s"}},
	{[]string{"--grace=5", "--stop-delay=5"}, "", []string{"--stop-delay", "5s"}},
	{[]string{"--grace=0", "--stop-delay=1"}, "", []string{"--stop-delay", "1s"}},
	{[]string{"--stop-signal=FOO"}, "", []string{"--stop-signal", `"FOO"`}},
	{[]string{"--stop-signal="}, "", []string{"--stop-signal", `""`}},
	{[]string{"--stop-signal=SIG"}, "", []string{"--stop-signal", `"SIG"`}},
	{[]string{"--stop-signal=0"}, "", []string{"--stop-signal", `"0"`}},
	{[]string{"--stop-signal=65"}, "", []string{"--stop-signal", `"65"`, "64"}},
	{[]string{"--stop-signal=-15"}, "", []string{"--stop-signal", `"-15"`}},
	{[]string{"--stop-signal=RTMIN+31"}, "", []string{"--stop-signal", `"RTMIN+31"`}},
	{[]string{"--stop-signal=KILL"}, "", []string{"--stop-signal", "KILL"}},
	{[]string{"--stop-signal=STOP"}, "", []string{"--stop-signal", "STOP"}},
	{[]string{"--stop-signal=URG"}, "", []string{"--stop-signal", "URG"}},
	{[]string{"--stop-signal=CHLD"}, "", []string{"--stop-signal", "CHLD"}},
	{[]string{"--stop-signal=TSTP"}, "", []string{"--stop-signal", "TSTP"}},
	{[]string{"--stop-signal=CONT"}, "", []string{"--stop-signal", "CONT"}},
	{[]string{"--stop-signal=RTMIN"}, "", []string{"--stop-signal", "RTMIN"}},
	{[]string{"--rewrite=TERM"}, "", []string{"--rewrite", `"TERM"`, "FROM:TO"}},
	{[]string{"-r", "15"}, "", []string{"--rewrite", `"15"`, "FROM:TO"}},
	{[]string{"--rewrite="}, "", []string{"--rewrite", `""`}},
	{[]string{"--rewrite=TERM:"}, "", []string{"--rewrite", `""`}},
	{[]string{"--rewrite=:TERM"}, "", []string{"--rewrite", `""`}},
	{[]string{"--rewrite=TERM:FOO"}, "", []string{"--rewrite", `"FOO"`}},
	{[]string{"--rewrite=TERM:QUIT:INT"}, "", []string{"--rewrite", `"QUIT:INT"`}},
	{[]string{"--rewrite=0:TERM"}, "", []string{"--rewrite", `"0"`}},
	{[]string{"--rewrite=TERM:99"}, "", []string{"--rewrite", `"99"`}},
	{[]string{"--rewrite=TERM:STOP"}, "", []string{"--rewrite", "STOP"}},
	{[]string{"--rewrite=KILL:TERM"}, "", []string{"--rewrite", "KILL"}},
	{[]string{"--rewrite=CHLD:TERM"}, "", []string{"--rewrite", "CHLD"}},
	{[]string{"--rewrite=TERM:32"}, "", []string{"--rewrite", "32"}},
	{[]string{"--forward=all"}, "", []string{"--forward", `"all"`, "auto", "group", "worker"}},
	{[]string{"--forward="}, "", []string{"--forward", `""`}},
	{[]string{"-g", "-c"}, "", []string{"-g", "-c"}},
	{[]string{"-g", "--forward=worker"}, "", []string{"-g", "--forward"}},
	{[]string{"-c", "--forward=auto"}, "", []string{"-c", "--forward"}},
	{[]string{"-e", "256"}, "", []string{"--remap-exit", `"256"`, "255"}},
	{[]string{"-e", "-1"}, "", []string{"--remap-exit", `"-1"`}},
	{[]string{"-e", "all"}, "", []string{"--remap-exit", `"all"`}},
	{[]string{"--remap-exit=1,2"}, "", []string{"--remap-exit", `"1,2"`}},
	{[]string{"-p", "FOO"}, "", []string{"--parent-death-signal", `"FOO"`}},
	{[]string{"-p", "0"}, "", []string{"--parent-death-signal", `"0"`}},
	{[]string{"--second-stop=never"}, "", []string{"--second-stop", `"never"`, "force", "ignore"}},
	{[]string{"--log-format=xml"}, "", []string{"--log-format", `"xml"`, "json", "text", "auto"}},
	{[]string{"--log-level=trace"}, "", []string{"--log-level", `"trace"`, "error", "warn", "info", "debug"}},
	{[]string{"--log-level="}, "", []string{"--log-level", `""`}},
	{[]string{"--log-level=fatal"}, "", []string{"--log-level", `"fatal"`}},
	{[]string{"--nope"}, "", []string{"--nope"}},
	{[]string{"--no\nsuch\x1b[31m"}, "", []string{"such"}},
	{[]string{"-x"}, "", []string{"-x"}},
	{[]string{"-gx"}, "", []string{"-x"}},
	{[]string{"--group=no"}, "", []string{"--group", `"no"`, "true or false"}},
	{[]string{"--grace=5\ndrainit: nonsense"}, "", []string{"--grace"}},
	{nil, "DRAINIT_GRACE=abc", []string{"DRAINIT_GRACE", `"abc"`}},
	{nil, "DRAINIT_GRACE=25000000", []string{"DRAINIT_GRACE", `"25000000"`, "milliseconds"}},
	{nil, "DRAINIT_STOP_DELAY=x", []string{"DRAINIT_STOP_DELAY", `"x"`}},
	{nil, "DRAINIT_STOP_DELAY=31s", []string{"DRAINIT_STOP_DELAY", "31s", "30s"}},
	{nil, "DRAINIT_STOP_SIGNAL=QUIT,FOO", []string{"DRAINIT_STOP_SIGNAL", `"FOO"`}},
	{nil, "DRAINIT_STOP_SIGNAL=QUIT KILL", []string{"DRAINIT_STOP_SIGNAL", `"QUIT KILL"`}},
	{nil, "DRAINIT_REMAP_EXIT=143,999", []string{"DRAINIT_REMAP_EXIT", `"999"`}},
	{nil, "DRAINIT_REMAP_EXIT=143,", []string{"DRAINIT_REMAP_EXIT", `""`}},
	{nil, "DRAINIT_PARENT_DEATH_SIGNAL=TERM,INT", []string{"DRAINIT_PARENT_DEATH_SIGNAL", `"TERM,INT"`}},
	{nil, "DRAINIT_REWRITE=TERM:QUIT,x", []string{"DRAINIT_REWRITE", `"x"`}},
	{nil, "DRAINIT_FORWARD=everyone", []string{"DRAINIT_FORWARD", `"everyone"`}},
	{nil, "DRAINIT_LOG_FORMAT=xml", []string{"DRAINIT_LOG_FORMAT", `"xml"`}},
	{nil, "DRAINIT_LOG_LEVEL=loud", []string{"DRAINIT_LOG_LEVEL", `"loud"`}},
	{nil, "OJS_SHUTDOWN_GRACE_PERIOD=abc", []string{"OJS_SHUTDOWN_GRACE_PERIOD", `"abc"`}},
	{nil, "OJS_GRACE_PERIOD=8760h", []string{"OJS_GRACE_PERIOD", `"8760h"`}},
	{nil, "OJS_SHUTDOWN_TIMEOUT=-1", []string{"OJS_SHUTDOWN_TIMEOUT", `"-1"`}},
}

func TestBadInputStartsNothing(t *testing.T) {
	harness.Usual(t)
	for _, tt := range badInputs {
		t.Run(strings.Join(append(tt.flags, tt.env), " "), func(t *testing.T) {
			wantRefused(t, harness.Launch{NoPID1: true, Env: []string{tt.env}, Args: tt.flags}, tt.names)
		})
	}
	t.Run("as PID 1", func(t *testing.T) {
		wantRefused(t, harness.Launch{Args: []string{"--grace=abc"}}, []string{"--grace", `"abc"`})
	})
}

// wantRefused checks that drainit with these flags says why in one line, and
// that the command, which would make a file, has not been started.
func wantRefused(t *testing.T, l harness.Launch, names []string) {
	t.Helper()
	made := filepath.Join(t.TempDir(), "made")
	l.Args = append(l.Args[:len(l.Args):len(l.Args)], "touch", made)
	r := harness.RunToEnd(t, l)
	if r.Status != 125 || r.Out != "" {
		t.Errorf("exit status %d, want 125; stdout %q", r.Status, r.Out)
	}
	wantOneLineIf(t, true, r.Err)
	if !strings.HasPrefix(r.Err, "drainit: ") || strings.ContainsAny(r.Err, "\x1b\r") {
		t.Errorf("stderr: %q", r.Err)
	}
	for _, name := range names {
		if !strings.Contains(r.Err, name) {
			t.Errorf("no %q in %q", name, r.Err)
		}
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("the command has been started")
	}
}

// A flag without its value takes the command's first word for it, or has none.
func TestFlagWithoutItsValue(t *testing.T) {
	for _, tt := range []struct {
		args  []string
		names []string
	}{
		{[]string{"--grace"}, []string{"--grace"}},
		{[]string{"-t"}, []string{"-t"}},
		{[]string{"-g", "-r"}, []string{"-r"}},
		{[]string{"--grace", "touch"}, []string{"--grace", `"touch"`}},
		{[]string{"--grace", "--", "true"}, []string{"--grace", `"--"`}},
	} {
		r := harness.RunToEnd(t, harness.Launch{NoPID1: true, Args: tt.args})
		wantOneLineIf(t, true, r.Err)
		if r.Status != 125 || r.Out != "" || !strings.HasPrefix(r.Err, "drainit: ") {
			t.Errorf("%q: exit status %d, stdout %q, stderr %q", tt.args, r.Status, r.Out, r.Err)
		}
		for _, name := range tt.names {
			if !strings.Contains(r.Err, name) {
				t.Errorf("%q: no %q in %q", tt.args, name, r.Err)
			}
		}
	}
}
