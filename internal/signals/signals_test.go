package signals

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParse(t *testing.T) {
	good := map[string]unix.Signal{
		"TERM": unix.SIGTERM, "SIGTERM": unix.SIGTERM, "sigterm": unix.SIGTERM, "15": unix.SIGTERM, "1": unix.SIGHUP,
		"POLL": unix.SIGIO, "SIGIO": unix.SIGIO, "CLD": unix.SIGCHLD, "IOT": unix.SIGABRT,
		"RTMIN": 34, "SIGRTMIN": 34, "RTMIN+0": 34, "RTMAX-0": 64, "SIG32": 32, "RTMIN+3": 37, "sigrtmin+30": 64, "RTMAX": 64, "RTMAX-2": 62, "64": 64,
	}
	for text, want := range good {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "0", "65", "-1", "+15", "1.5", "FOO", "SIG", "SIGSIGTERM", " TERM", "TERM ",
		"RTMIN+31", "RTMIN-1", "RTMIN+", "RTMIN3", "RTMAX+1", "RTMAX-31", "RTMIN+-1", "RTMIN++1",
	} {
		if got, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", text, got)
		} else if !strings.Contains(err.Error(), "invalid signal ") {
			t.Errorf("Parse(%q): %v", text, err)
		}
	}
}

func TestNamesParseBack(t *testing.T) {
	for sig := unix.Signal(1); sig <= maxSignal; sig++ {
		if got, err := Parse(Name(sig)); err != nil || got != sig {
			t.Errorf("signal %d is %s, which is %v, %v", sig, Name(sig), got, err)
		}
	}
}

func TestAllLeavesOutWhatIsNeverPassedOn(t *testing.T) {
	all := All()
	for _, sig := range []unix.Signal{unix.SIGKILL, unix.SIGSTOP, unix.SIGPROF, unix.SIGURG, unix.SIGCHLD, unix.SIGPIPE, unix.SIGXCPU, unix.SIGXFSZ, 32, 33, 34,
		unix.SIGILL, unix.SIGTRAP, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSTKFLT, unix.SIGSYS} {
		if slices.Contains(all, sig) {
			t.Errorf("%s is passed on", Name(sig))
		}
	}
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGQUIT, unix.SIGABRT, unix.SIGTSTP, 35, 64} {
		if !slices.Contains(all, sig) {
			t.Errorf("%s is not passed on", Name(sig))
		}
	}
	if len(all) != 64-18 {
		t.Errorf("%d signals are passed on, want 46", len(all))
	}
}

func TestParseRewrite(t *testing.T) {
	good := map[string][2]unix.Signal{
		"TERM:QUIT": {15, 3}, "15:3": {15, 3}, "sigterm:RTMIN+3": {15, 37}, "HUP:0": {1, Drop}, "TSTP:USR1": {20, 10}, "TERM:KILL": {15, 9},
		"STOP:0": {19, Drop}, "URG:0": {23, Drop}, "PIPE:0": {13, Drop}, "CHLD:0": {17, Drop}, "SEGV:0": {11, Drop}, "IO:SEGV": {29, 11}, "9:0": {9, Drop}, "27:0": {27, Drop}, "34:0": {34, Drop},
	}
	for rule, want := range good {
		from, to, err := ParseRewrite(rule)
		if err != nil || from != want[0] || to != want[1] {
			t.Errorf("ParseRewrite(%q) = %d:%d, %v; want %v", rule, from, to, err, want)
		}
	}
	for _, rule := range []string{
		"", ":", "TERM", "TERM:", ":QUIT", "TERM:QUIT:INT", "0:TERM", "KILL:TERM", "STOP:00", "CHLD:TERM", "URG:TERM", "PIPE:1", "SEGV:TERM", "SYS:USR1", "0:0", "65:0",
		"TERM:STOP", "TERM:32", "TERM:33", "TERM:65", "34:TERM", "TERM=QUIT",
	} {
		if from, to, err := ParseRewrite(rule); err == nil {
			t.Errorf("ParseRewrite(%q) = %d:%d, want an error", rule, from, to)
		}
	}
}

func TestRewritesApply(t *testing.T) {
	r := Rewrites{unix.SIGTERM: unix.SIGQUIT, unix.SIGHUP: Drop}
	for sig, want := range map[unix.Signal]unix.Signal{unix.SIGTERM: unix.SIGQUIT, unix.SIGHUP: Drop, unix.SIGINT: unix.SIGINT} {
		if got := r.Apply(sig); got != want {
			t.Errorf("%s becomes %d, want %d", Name(sig), got, want)
		}
	}
	if got, want := r.Rules(), []string{"SIGHUP:0", "SIGTERM:SIGQUIT"}; !slices.Equal(got, want) {
		t.Errorf("the rules are %q, want %q", got, want)
	}
	if got, want := (Rewrites{1: 2, 64: 63}).Rules(), []string{"SIGHUP:SIGINT", "SIGRTMIN+30:SIGRTMIN+29"}; !slices.Equal(got, want) {
		t.Errorf("the first and the last signal: %q, want %q", got, want)
	}
	if got := Rewrites(nil).Apply(unix.SIGINT); got != unix.SIGINT {
		t.Errorf("no rewrites make %v of SIGINT", got)
	}
}

func TestSets(t *testing.T) {
	s := SetOf(unix.SIGHUP, unix.SIGTERM, 64)
	for sig := unix.Signal(0); sig <= maxSignal+1; sig++ {
		want := sig == unix.SIGHUP || sig == unix.SIGTERM || sig == 64
		if s.Has(sig) != want {
			t.Errorf("%d is in %x: %v, want %v", sig, s, s.Has(sig), want)
		}
	}
	if SetOf() != 0 || SetOf(0, 65, 1000) != 0 {
		t.Errorf("what is not a signal makes %x and %x", SetOf(), SetOf(0, 65, 1000))
	}
	if got, err := ParseSet([]byte("8000000000004001")); got != s || err != nil {
		t.Errorf("read back: %x, %v; want %x", got, err, s)
	}
	for _, bad := range []string{"", "x", "-1", "10000000000000000"} {
		if got, err := ParseSet([]byte(bad)); err == nil {
			t.Errorf("%q is %x, want an error", bad, got)
		}
	}
	if got := Mask(unix.SIGTERM).Val; got[0] != 1<<14 || slices.Max(got[1:]) != 0 {
		t.Errorf("TERM as a mask is %x", got)
	}
}
