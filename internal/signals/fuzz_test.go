package signals

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What parses is a signal, has a name, and that name means the same signal.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"TERM", "SIGTERM", "sigterm", "15", "1", "64", "65", "0", "-1", "+1", "015", "32", "33", "34", "", "SIG", "SIGSIGTERM",
		"RTMIN", "SIGRTMIN+3", "RTMIN+30", "RTMIN+31", "RTMAX", "RTMAX-30", "RTMAX-31", "RTMIN-1", "RTMAX+1", "RTMIN+", "RTMIN+-1",
		"CLD", "POLL", "IOT", "UNUSED", "STKFLT", "signal 32", "9999999999999999999999", " TERM", "TERM\n", "TER\x00M", "\xff", "ſIGTERM",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		sig, err := Parse(s)
		if err != nil {
			wantError(t, s, err)
			return
		}
		if sig < 1 || sig > maxSignal {
			t.Fatalf("%q is signal %d", s, sig)
		}
		if again, err := Parse(Name(sig)); again != sig || err != nil {
			t.Errorf("%q is %d by the name of %q, which is %d, %v", s, sig, Name(sig), again, err)
		}
		if upper, err := Parse(strings.ToUpper(s)); upper != sig || err != nil {
			t.Errorf("%q is %d, but in capitals %d, %v", s, sig, upper, err)
		}
	})
}

// A rule that parses can be said again, by names and by numbers, drops what is
// not passed on if it names that at all, and never delivers what would freeze the worker.
func FuzzParseRewrite(f *testing.F) {
	for _, seed := range []string{
		"TERM:QUIT", "15:3", "HUP:0", "TERM:", ":TERM", ":", "", "TERM", "TERM:QUIT:INT", "TERM:STOP", "TERM:KILL", "KILL:TERM", "URG:TERM",
		"TERM:32", "TERM:34", "0:15", "0:0", "15:00", "9:0", "URG:0", "32:0", "sigusr1:sigrtmin+3", "RTMIN+1:RTMAX", "TERM:TERM", "TERM\n:QUIT", "\xff:\xfe",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, rule string) {
		from, to, err := ParseRewrite(rule)
		if err != nil {
			wantError(t, rule, err)
			if from != 0 || to != 0 {
				t.Errorf("%q: %d and %d beside the error", rule, from, to)
			}
			return
		}
		if (to != Drop && !Forwardable(from)) || to < Drop || to > maxSignal || to == unix.SIGSTOP {
			t.Fatalf("%q rewrites %s to %s", rule, Name(from), Name(to))
		}
		right := "0"
		if to != Drop {
			right = Name(to)
		}
		if f, o, err := ParseRewrite(Name(from) + ":" + right); f != from || o != to || err != nil {
			t.Errorf("%q is %d:%d, and said again %d:%d, %v", rule, from, to, f, o, err)
		}
		if (Rewrites{from: to}).Apply(from) != to {
			t.Errorf("%q is not applied", rule)
		}
	})
}

// wantError checks that an error can go into a line: it is one, says something
// and has nothing of the input in it that is not printable.
func wantError(t *testing.T, input string, err error) {
	t.Helper()
	msg := err.Error()
	unprintable := func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x1b }
	if msg == "" || strings.ContainsFunc(msg, unprintable) {
		t.Errorf("%q: the error is %q", input, msg)
	}
}
