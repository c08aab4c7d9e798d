package inspect

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/rows"
)

// The plan goes by the flags and the variables that drainit was given, and by what each process does with
// the signals.
func TestPlanGoesByDrainitsSettings(t *testing.T) {
	askedOf(t, func(t *testing.T, run func(harness.Launch) *container) {
		c := run(harness.Launch{Env: []string{"DRAINIT_GRACE=40s", "DRAINIT_REWRITE=TSTP:USR1"},
			Args: harness.Line([]string{"--stop-signal", "QUIT"},
				harness.Tree("a[QUIT,USR1](b[QUIT](c) d[-QUIT])")...)})
		for _, name := range harness.Words("a b c d") {
			c.WaitOut(`^ready ` + name)
		}
		c.WaitTitle("drainit:run")
		const row = ` *\d+ `
		c.Ask("status", "--plan").Want(0, `\Arunning: drainit\[\d+\], 4 processes below it\n`+
			`a stop by SIGQUIT: the last call after 30s, the final call after 38s, SIGKILL after 40s\n`+
			` +PID SIGQUIT +SIGUSR1 +COMMAND +STOP\n`+
			row+`handles +handles +perl +now: the worker\n`+
			row+
			`handles +dies +  perl +left to perl\[\d+\]; at once if that ends without passing it on; at `+
			`the latest 2s before SIGKILL\n`+
			row+`dies +dies +    perl +not while perl\[\d+\] lives: it would only die of the signal\n`+
			row+
			`ignores +dies +  perl +not while perl\[\d+\] lives: it (does not act upon|would only die of) `+
			`the signal\n\z`, "")
	})
}

// Another user sees the phase and the processes, and a line says that the rest can't be read.
func TestWhoMayNotTraceSeesTheProcesses(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := harness.Run(t, harness.Launch{Args: harness.Words("-- WORKER listen -drain 1h")})
	p.WaitReady()
	ask := func(phase string) {
		p.AskAs(harness.Ask{UID: harness.PlainUser}, "status", "--plan").Want(0,
			`\A`+phase+`: drainit\[1\], 1 process below it\n.*COMMAND\n.* worker\n\z`,
			`\Adrainit: cannot read what drainit\[1\] has decided: .*permission denied\n\z`)
	}
	ask("running")
	p.Signal(unix.SIGTERM)
	p.WaitTitle("drainit:drain")
	ask("draining")
}

// In a drain, each process that is left has what was done with it, or what it waits for.
func TestStatusSaysWhatEachProcessWaitsFor(t *testing.T) {
	askedOfTree(t, "a[TERM](b[TERM](c) d[TERM])", func(t *testing.T, c *container) {
		c.Signal(unix.SIGTERM)
		const row = `(?m)^ +\d+ +\d+ \w +[0-9.]+s perl +[0-9.]+s: `
		harness.WaitUntil(t, "all is decided",
			func() bool { return harness.Matches(`perl +\S+ not while`, c.Ask("status").Out) })
		out := c.Ask("status").Out
		for pattern, n := range map[string]int{
			row + `sent SIGTERM: the worker$`:     1,
			row + `left to perl\[\d+\]( \| .*)?$`: 2, // after some seconds, also until when
			row + `not while perl\S+ lives: it would only die of the signal \| has no SIGTERM handler$`: 1,
		} {
			if got := len(regexp.MustCompile(pattern).FindAllString(out, -1)); got != n {
				t.Errorf("%d rows match %s, want %d, in\n%s", got, pattern, n, out)
			}
		}
	})
}

// rehearsing replaces the words in braces of rehearsals.tsv.
var rehearsing = strings.NewReplacer(
	"{row}", `(?m)^ +\d+ +`,
	"{arrives}", `\nsignals arrive: the stop took \d+\.\ds\n\z`,
	"{waits}", `\nsignals arrive: [^\n]*\n- no process was at work: if it was still starting, --ready`,
	// as a runtime without a handler of its program's (Go's handles STKFLT and URG)
	"{runtime}", `$SIG{$_} = sub {} for qw(STKFLT URG); `+
		`$SIG{TERM} = sub { $SIG{TERM} = "DEFAULT"; kill TERM => $$ }; sleep 100 while 1`,
	"{loses}", `\nloses work: [^\n]*\n- `,
	"{loads}", `sleep 3; $SIG{TERM} = sub { exit 0 }; sleep 1 while 1`,
	"{drains}", `perl -e '$SIG{TERM} = sub { exit 0 }; sleep 100 while 1'`,
)

// rehearsed is the command line of a row.
func rehearsed(flags, command string) (args []string) {
	if flags != "" {
		for flag := range strings.SplitSeq(flags[2:], " --") { // their values have blanks
			args = append(args, "--"+flag)
		}
	}
	switch kind, text, _ := strings.Cut(command, ": "); kind {
	case "sh":
		return harness.Line(args, "sh", "-c", text)
	case "perl":
		return harness.Line(args, "perl", "-e", text)
	case "tree":
		return harness.Line(args, harness.Tree(text)...)
	}
	return harness.Line(args, strings.Fields(command)...)
}

// drainit plan ends with a verdict, and its exit status. Standard output has the plan alone, with what
// happened to each process; the worker writes to standard error.
func TestRehearsal(t *testing.T) {
	harness.Need(t, "perl")
	const head = `(?s)\Aa stop by SIG\w+: [^\n]*\n +PID COMMAND +SENT +ENDED +PLANNED\n`
	for _, row := range rows.Read(t, "testdata/rehearsals.tsv", 8) {
		if !harness.Row(row[0]) {
			continue
		}
		t.Run(row[0], func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				replaced := strings.NewReplacer("FILE", filepath.Join(t.TempDir(), "ready"))
				args := rehearsed(replaced.Replace(row[1]), rehearsing.Replace(row[2]))
				r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1,
					Args: append([]string{"plan"}, args...)})
				patterns := []string{head, row[5], row[6], row[7]}
				if row[5] == "" {
					patterns = []string{`\A\z`}
					if strings.Contains(r.Err, "repeated") || strings.Contains(r.Err, "second") {
						t.Error("drainit has sent itself a second stop signal")
					}
				}
				for _, pattern := range patterns {
					if !regexp.MustCompile(rehearsing.Replace(pattern)).MatchString(r.Out) {
						t.Errorf("not in it: %s", pattern)
					}
				}
				if fmt.Sprint(r.Status) != row[3] || !regexp.MustCompile("(?m)"+row[4]).MatchString(r.Err) {
					t.Errorf("exit status %d, want %s, and %q", r.Status, row[3], row[4])
				}
				if t.Failed() {
					t.Logf("stdout:\n%s\nstderr:\n%s", r.Out, r.Err)
				}
			})
		})
	}
}

// A launcher, or a shell with a trap, that has started no process yet is waited for.
func TestPlanWaitsForTheFirstChild(t *testing.T) {
	t.Parallel()
	harness.Need(t, "perl", "bash")
	const late = `trap 'exit 0' TERM; while ((SECONDS < 4)); do :; done
		perl -e '$SIG{TERM} = sub { exit 0 }; sleep 1 while 1'`
	r := harness.RunToEnd(t, harness.Launch{Args: []string{"plan", "--", "bash", "-c", late}})
	if !harness.Matches(`(?m)^ +\d+ +perl `, r.Out) {
		t.Errorf("the plan lacks what the shell starts:\n%s\n%s", r.Out, r.Err)
	}
}

// One that never starts a process is stopped all the same, and a line says so.
func TestPlanOfAStartThatNeverSettles(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	harness.Need(t, "bash")
	r := harness.RunToEnd(t, harness.Launch{Args: []string{"plan", "--", "bash", "-c",
		`trap 'exit 0' TERM; while :; do read -t 1 line; done`}})
	if r.Status != 0 ||
		!harness.Matches(`\nsignals arrive: [^\n]*\n- the processes still changed after 15s: `, r.Out) {
		t.Errorf("exit status %d:\n%s\n%s", r.Status, r.Out, r.Err)
	}
}

// What drainit plan --json prints is one line, as its schema describes it.
func TestPlanAsJSONFollowsItsSchema(t *testing.T) {
	harness.Need(t, "python3")
	const validate = `import json, sys; from jsonschema import Draft202012Validator as V
schema = json.load(open(sys.argv[1])); V.check_schema(schema)
for e in V(schema).iter_errors(json.load(sys.stdin)): print(e.json_path, e.message)`
	for name, tt := range map[string]struct{ tree, verdict string }{
		"signals arrive": {"a[TERM=0]", `"verdict":"signals_arrive","status":0,"reasons":\[\],"took_s":`},
		"loses work":     {"a[-TERM]", `"verdict":"loses_work","status":1,"reasons":\[\{"pid":`},
		"no plan":        {"-", `"verdict":"no_plan","status":1,"reasons":\[\{"why":"drainit`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := harness.RunToEnd(t,
				harness.Launch{Args: harness.Line([]string{"plan", "--json", "--grace=2s"},
					harness.Tree(tt.tree)...)})
			if !harness.Matches(`\A\{`+tt.verdict+`[^\n]*\}\n\z`, r.Out) {
				t.Errorf("want %s in %s", tt.verdict, r.Out)
			}
			check := exec.Command("python3", "-c", validate, harness.Repo("docs", "plan.schema.json"))
			check.Stdin = strings.NewReader(r.Out)
			out, err := check.CombinedOutput()
			if bytes.Contains(out, []byte("No module named 'jsonschema'")) {
				harness.Skip(t, "needs the Python module jsonschema")
			}
			if err != nil || len(out) > 0 {
				t.Errorf("%v\n%s\n%s", err, out, r.Out)
			}
		})
	}
}
