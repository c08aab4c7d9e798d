package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/inspect"
	"drainit/internal/machine"
	"drainit/internal/signals"
	"drainit/supervisor"
	"drainit/test/harness/rows"
)

// What no setting's own test shows: the other flags, several together, COMMAND, and what is logged.
func TestParse(t *testing.T) {
	for _, row := range rows.Read(t, "testdata/parse.tsv", 5) {
		o := wantOutcome(t, strings.Fields(row[0]), strings.Fields(row[1]), row[2])
		doubts := strings.Join(o.Config.Doubts, "\n")
		if !strings.HasPrefix(doubts, row[3]) || row[3] == "" && doubts != "" ||
			strings.Contains(doubts, "\n") {
			t.Errorf("%s %s: doubts %q, want %q", row[1], row[0], doubts, row[3])
		}
		if given := fmt.Sprint(o.Config.Given); row[4] != "" && given != row[4] {
			t.Errorf("%s %s: %s is said to be given, want %s", row[1], row[0], given, row[4])
		}
	}
}

// FuzzParse reads any command line and environment, each of fields that a line end
// parts. What parse lets through, supervisor.Run relies on.
func FuzzParse(f *testing.F) {
	for _, seed := range []struct{ args, environ string }{
		{"--\nx", ""},
		{"-t25\n--stop-delay=5s\nsh\n-c\nx", "DRAINIT_GRACE=bad\nA=b\nC"},
		{"-gwvs\n-e\n143\n-p\nKILL\nx", "DRAINIT_STOP_SIGNAL=QUIT, RTMIN+3\nDRAINIT_FORKING=1"},
		{"-c\n-r\n15:3\n--rewrite=HUP:0\nx", "OJS_GRACE_PERIOD=168h"},
		{"--health-addr\n[::1]:80\n--log-format\ntext\nx", "DRAINIT_LOG_LEVEL=debug\nDRAINIT_SERVICE_HOST=h"},
		{"--termination-log\nx\n--forking=0\n-V\nx", "=\n==\nDRAINIT_GRACE"},
	} {
		f.Add(seed.args, seed.environ)
	}
	f.Fuzz(func(t *testing.T, args, environ string) {
		o, err := parse(strings.Split(args, "\n"), strings.Split(environ, "\n"))
		if o == nil {
			t.Fatal("no options")
		}
		if err == nil && !o.version {
			checkConfig(t, o.Config)
		}
	})
}

func checkConfig(t *testing.T, c supervisor.Config) {
	const longest = 168*time.Hour + 5*time.Second // what the worker takes, and 5 s
	wrong := slices.ContainsFunc(c.StopSignals, func(sig unix.Signal) bool {
		return !signals.Forwardable(sig) || sig == unix.SIGTSTP || sig == unix.SIGCONT
	})
	for from, to := range c.Rewrites {
		wrong = wrong || !signals.Rewritable(from) || to < 0 || to > 64 || to == unix.SIGSTOP
	}
	for _, code := range c.RemapExit {
		wrong = wrong || code < 0 || code > 255
	}
	if wrong || c.Grace < 0 || c.Grace > longest && c.Grace != machine.Forever ||
		c.StopDelay < 0 || c.StopDelay > 0 && c.StopDelay >= c.Grace ||
		c.ParentDeathSignal < 0 || c.ParentDeathSignal > 64 || c.Mode > forward.ModeWorker ||
		!slices.Equal(workerEnv(c.Env), c.Env) {
		t.Errorf("%+v", c)
	}
}

// These tests ask parseVerb, and Run of status alone: a fault in what they test must not
// signal a drainit that runs beside them.

func TestVerbs(t *testing.T) {
	for _, row := range rows.Read(t, "testdata/verbs.tsv", 3) {
		verb, _, _ := strings.Cut(row[0], " ")
		for _, pid := range []int{7, 1} {
			problem := row[2]
			if pid == 1 && problem == "" {
				problem = "this drainit has just started as PID 1, and a subcommand asks one that runs " +
					"already"
			}
			want := map[string]string{"": row[1], "help": pflag.ErrHelp.Error()}[problem]
			if want == "" {
				want = verb + ": " + problem + "; a command of that name is run by: drainit -- " + verb
			}
			request, err := parseVerb(strings.Fields(row[0]), pid)
			got := differs(request, inspect.Request{})
			if err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%s as %d:\ngot  %s\nwant %s", row[0], pid, got, want)
			}
		}
	}
	want := said{125, "",
		`drainit: status: unexpected "a\nb"; a command of that name is run by: drainit -- status` + "\n"}
	if got := run(t, []string{"status", "a\nb"}, nil); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// There may be a drainit beside the test, or several, or none.
func TestVerbAnswers(t *testing.T) {
	got := run(t, []string{"status"}, nil)
	if refused := strings.HasPrefix(got.stderr, "drainit: "); refused == (got.stdout != "") ||
		!refused && got.status == 125 {
		t.Errorf("%+v", got)
	}
}
