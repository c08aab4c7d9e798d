package signals

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/sys/unix"

	"drainit/test/harness/rows"
)

func TestParse(t *testing.T) {
	for _, row := range rows.Read(t, "testdata/signals.tsv", 2) {
		want, _ := strconv.Atoi(row[1])
		if got, err := Parse(row[0]); int(got) != want || (err != nil) != (want == 0) {
			t.Errorf("Parse(%q) = %v, %v; want %d", row[0], got, err, want)
		}
	}
	for sig := unix.Signal(1); sig <= maxSignal; sig++ {
		if got, err := Parse(Name(sig)); err != nil || got != sig {
			t.Errorf("signal %d is %s, which is %v, %v", sig, Name(sig), got, err)
		}
	}
}

// What parses is a signal, has a name, and that name means the same signal.
func FuzzParse(f *testing.F) {
	for _, row := range rows.Read(f, "testdata/signals.tsv", 2) {
		f.Add(row[0])
	}
	f.Fuzz(func(t *testing.T, s string) {
		sig, err := Parse(s)
		if err != nil {
			wantError(t, s, err)
			return
		}
		if again, err := Parse(Name(sig)); again != sig || err != nil || sig < 1 || sig > maxSignal {
			t.Errorf("%q is %d by the name of %q, which is %d, %v", s, sig, Name(sig), again, err)
		}
		if upper, err := Parse(strings.ToUpper(s)); upper != sig || err != nil {
			t.Errorf("%q is %d, but in capitals %d, %v", s, sig, upper, err)
		}
	})
}

// wantError checks that an error can go into a line: it is one, says something
// and has nothing of the input in it that is not printable.
func wantError(t *testing.T, input string, err error) {
	t.Helper()
	if msg := err.Error(); msg == "" || strings.ContainsFunc(msg, unicode.IsControl) {
		t.Errorf("%q: the error is %q", input, msg)
	}
}

func TestAllLeavesOutWhatIsNeverPassedOn(t *testing.T) {
	never := SetOf(append(Faults(), unix.SIGKILL, unix.SIGSTOP, unix.SIGPROF, unix.SIGURG, unix.SIGCHLD,
		unix.SIGPIPE, unix.SIGXCPU, unix.SIGXFSZ, 32, 33, 34, ForceStop)...)
	if faults := SetOf(unix.SIGILL, unix.SIGTRAP, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSTKFLT,
		unix.SIGSYS); SetOf(Faults()...) != faults {
		t.Errorf("the faults are %v", Faults())
	}
	if all := All(); SetOf(all...) != ^never || !slices.IsSorted(all) {
		t.Errorf("%v are passed on", all)
	}
}

func TestParseRewrite(t *testing.T) {
	for _, row := range rows.Read(t, "testdata/rewrites.tsv", 3) {
		from, to, err := ParseRewrite(row[0])
		wantFrom, _ := strconv.Atoi(row[1])
		wantTo, _ := strconv.Atoi(row[2])
		if int(from) != wantFrom || int(to) != wantTo || (err != nil) != (wantFrom == 0) {
			t.Errorf("ParseRewrite(%q) = %d:%d, %v; want %v", row[0], from, to, err, row[1:])
		}
	}
}

// A rule that parses can be said again, drops what is not passed on if it names that at all, and
// never delivers what would freeze the worker.
func FuzzParseRewrite(f *testing.F) {
	for _, row := range rows.Read(f, "testdata/rewrites.tsv", 3) {
		f.Add(row[0])
	}
	f.Fuzz(func(t *testing.T, rule string) {
		from, to, err := ParseRewrite(rule)
		if err != nil {
			wantError(t, rule, err)
			return
		}
		if from < 1 || from > maxSignal || to < Drop || to > maxSignal || to == unix.SIGSTOP {
			t.Fatalf("%q rewrites %s to %s", rule, Name(from), Name(to))
		}
		if r := (Rewrites{from: to}); r.Apply(from) != to {
			t.Errorf("%q is %d:%d, and delivers %d", rule, from, to, r.Apply(from))
		}
	})
}

func TestRewrites(t *testing.T) {
	r := Rewrites{unix.SIGTERM: unix.SIGQUIT, unix.SIGHUP: Drop, 64: 63}
	for sig, want := range map[unix.Signal]unix.Signal{unix.SIGTERM: unix.SIGQUIT, unix.SIGHUP: Drop,
		unix.SIGINT: unix.SIGINT} {
		if got := r.Apply(sig); got != want {
			t.Errorf("%s becomes %d, want %d", Name(sig), got, want)
		}
	}
	if got, want := r.From(), []unix.Signal{unix.SIGHUP, unix.SIGTERM, 64}; !slices.Equal(got, want) {
		t.Errorf("%d are rewritten, want %d", got, want)
	}
}

// Of several signals that become the same one, the first by number stands in the advice.
func TestSignalBeforeARewrite(t *testing.T) {
	r := Rewrites{unix.SIGTERM: unix.SIGQUIT, unix.SIGINT: unix.SIGQUIT, 64: unix.SIGQUIT, 40: unix.SIGQUIT}
	for range 20 { // a map has no order
		if got := r.Before(unix.SIGQUIT); got != unix.SIGINT {
			t.Fatalf("%s became QUIT, want INT", Name(got))
		}
	}
	if got := r.Before(unix.SIGHUP); got != unix.SIGHUP {
		t.Errorf("%s became HUP, which no signal does", Name(got))
	}
}

func TestSets(t *testing.T) {
	s := SetOf(unix.SIGHUP, unix.SIGTERM, 64, 0, 65, 1000)
	for sig := unix.Signal(0); sig <= maxSignal+1; sig++ {
		if want := sig == unix.SIGHUP || sig == unix.SIGTERM || sig == 64; s.Has(sig) != want {
			t.Errorf("%d is in %x: %v, want %v", sig, s, s.Has(sig), want)
		}
	}
	if got := Mask(unix.SIGTERM).Val; got[0] != 1<<14 || slices.Max(got[1:]) != 0 {
		t.Errorf("TERM as a mask is %x", got)
	}
}

// What ends a program, or stops it, where that has no handler (signal(7)). SIGCHLD and the like do neither,
// and of what is never passed on nothing is said.
func TestDefaults(t *testing.T) {
	stops := SetOf(unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	ends := SetOf(All()...) &^ stops &^ SetOf(unix.SIGCONT, unix.SIGWINCH)
	for sig := unix.Signal(1); sig <= maxSignal; sig++ {
		if StopsByDefault(sig) != stops.Has(sig) || EndsByDefault(sig) != ends.Has(sig) {
			t.Errorf("%s stops: %v, ends: %v", Name(sig), StopsByDefault(sig), EndsByDefault(sig))
		}
	}
}

// The signals of a set come in turn, and after the last one the first comes again.
func TestNext(t *testing.T) {
	s := SetOf(unix.SIGHUP, unix.SIGTERM, 64)
	for from, want := range map[unix.Signal]unix.Signal{
		0: unix.SIGHUP, unix.SIGHUP: unix.SIGTERM, 14: unix.SIGTERM, unix.SIGTERM: 64,
		63: 64, 64: unix.SIGHUP,
	} {
		if got := s.Next(from); got != want {
			t.Errorf("after %d comes %d, want %d", from, got, want)
		}
	}
}
