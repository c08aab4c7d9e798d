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
)

// The plan goes by the flags and the variables that drainit was given, and by what each process does with the signals.
func TestPlanGoesByDrainitsSettings(t *testing.T) {
	harness.Asked(t, func(t *testing.T, run func(harness.Launch) *harness.Container) {
		c := run(harness.Launch{Env: []string{"DRAINIT_GRACE=40s", "DRAINIT_REWRITE=TSTP:USR1"},
			Args: harness.Line([]string{"--stop-signal", "QUIT"}, harness.Tree("a[QUIT,USR1](b[QUIT](c) d[-QUIT])")...)})
		for name := range strings.FieldsSeq("a b c d") {
			c.WaitOut(`^ready ` + name)
		}
		c.WaitTitle("drainit:run")
		const row = ` *\d+ `
		c.Ask("status", "--plan").Want(0, `\Arunning: drainit\[\d+\], 4 processes below it\n`+
			`a stop by SIGQUIT: the last call after 30s, the final call after 38s, SIGKILL after 40s\n`+
			` +PID SIGQUIT +SIGUSR1 +COMMAND +STOP\n`+
			row+`handles +handles +perl +now: the worker\n`+
			row+`handles +dies +  perl +left to perl\[\d+\]; at once if that ends without passing it on; at the latest 2s before SIGKILL\n`+
			row+`dies +dies +    perl +not while perl\[\d+\] lives: it would only die of the signal\n`+
			row+`ignores +dies +  perl +not while perl\[\d+\] lives: it (does not act upon|would only die of) the signal\n\z`, "")
	})
}

// Another user sees the phase and the processes, and a line says that the rest can't be read.
func TestWhoMayNotTraceSeesTheProcesses(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := harness.Run(t, harness.Launch{Args: []string{"--", harness.WorkerBin, "listen", "-drain", "1h"}})
	p.WaitReady()
	ask := func(phase string) {
		p.AskAs(harness.Ask{Args: []string{"status", "--plan"}, UID: harness.PlainUser}).Want(0,
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
	askedOfTree(t, "a[TERM](b[TERM](c) d[TERM])", "a b c d", func(t *testing.T, c *harness.Container) {
		c.Signal(unix.SIGTERM)
		const row, left = `(?m)^ +\d+ +\d+ \w +[0-9.]+s perl +[0-9.]+s: `, `left to perl\[\d+\]$`
		harness.WaitUntil(t, "all is decided", func() bool { return harness.Matches(`perl +\S+ not while`, c.Ask("status").Out) })
		out := c.Ask("status").Out
		for pattern, n := range map[string]int{row + `sent SIGTERM: the worker$`: 1, row + left: 2, row + `not while perl\[\d+\] lives: it would only die of the signal \| has no SIGTERM handler$`: 1} {
			if got := len(regexp.MustCompile(pattern).FindAllString(out, -1)); got != n {
				t.Errorf("%d rows match %s, want %d, in\n%s", got, pattern, n, out)
			}
		}
	})
}

// drainit plan ends with a verdict, and its exit status. Standard output has the plan alone, with what happened to each
// process; the worker writes to standard error.
func TestRehearsal(t *testing.T) {
	harness.Need(t, "perl")
	const head, row = `(?s)\Aa stop by SIG\w+: [^\n]*\n +PID COMMAND +SENT +ENDED +PLANNED\n`, `(?m)^ +\d+ +`
	const arrive, loses = `\nsignals arrive: the stop took \d+\.\ds\n\z`, `\nloses work: [^\n]*\n- `
	const loads = `sleep 3; $SIG{TERM} = sub { exit 0 }; sleep 1 while 1`
	const drains = `perl -e '$SIG{TERM} = sub { exit 0 }; sleep 100 while 1'`
	tree := func(tree string) []string { return harness.Line(nil, harness.Tree(tree)...) }
	script := func(script string) []string { return []string{"--", "sh", "-c", script} }
	for name, tt := range map[string]struct {
		flags, command []string
		status         int
		out            []string // patterns
		stderr         string
	}{
		"each ends by itself": {nil, script(drains + `; exit $?`), 0, []string{row + `sh +TERM 0\.\ds +\d\.\ds SIGTERM +now: the worker$`,
			row + `perl +TERM \d\.\ds +\d\.\ds status 0 +now: untouched`, arrive}, ``},
		"one that is left has no handler": {nil, tree("a[TERM=0](b)"), 1, []string{loses + `perl\[\d+\] has no SIGTERM handler and died of it`}, `ready a`},
		"a trap waits for its job":        {nil, script(`trap 'kill $p' TERM; ` + drains + ` & p=$!; wait $p; wait $p`), 0, []string{row + `perl +- +\d\.\ds +left to sh\[\d+\]; at once if that ends`, arrive}, ``},
		"a trap ends its job":             {nil, script(`trap 'kill $!; wait; exit 0' TERM; perl -e 'sleep 100' & wait`), 1, []string{loses + `perl\[\d+\] has no SIGTERM handler and ended at once: add one`}, ``},
		"its turn is late":                {nil, script(drains + ` & exec perl -e '$SIG{TERM} = sub { sleep 2; exit 0 }; sleep 1 while 1'`), 0, []string{`\nsignals arrive: [^\n]*\n- perl\[\d+\] late: was signalled only [2-7]\.\ds after the stop signal: `}, ``},
		"another tells it late":           {nil, script(`trap 'sleep 2; kill $p; wait $p; exit 0' TERM; ` + drains + ` & p=$!; wait`), 0, []string{`\n- perl\[\d+\] late: was sent no signal in the first second: left to sh`}, ``},
		"the worker alone is signalled":   {[]string{"--forward=worker"}, script(drains + `; exit $?`), 1, []string{loses + `perl\[\d+\] was killed when the worker had ended: --forward auto`}, ``},
		"another's child":                 {nil, script(`trap 'kill $!; wait; exit 0' TERM; sleep 100 & echo ready; wait`), 0, []string{row + `sleep +- +\d\.\ds( SIGTERM)? +not while `, arrive}, `ready`},
		"no handler":                      {nil, []string{"--", "sleep", "100"}, 1, []string{loses + `sleep\[\d+\] has no SIGTERM handler and died of it: add one`}, `has no SIGTERM handler`},
		"no handler below a shell":        {nil, script(`echo ready; perl -e 'sleep 100'; exit 5`), 1, []string{loses + `perl\[\d+\] has no SIGTERM handler`}, `ready`},
		"a shell alone":                   {nil, script(`while :; do sleep 9; done`), 1, []string{loses + `sh\[\d+\] has no SIGTERM handler and died of it`}, ``},
		"a status that is allowed":        {[]string{"--remap-exit=143"}, []string{"--", "sleep", "100"}, 0, []string{arrive}, ``},
		"it fails in its drain":           {nil, tree("a[TERM=7]"), 1, []string{loses + `perl\[\d+\] exited with status 7: --remap-exit 7, `}, ``},
		"which is allowed":                {[]string{"--remap-exit=7"}, tree("a[TERM=7]"), 0, []string{arrive}, ``},
		"good manners":                    {nil, script(`trap 'trap - TERM; kill $$' TERM; echo ready; while :; do sleep 1; done`), 0, []string{arrive}, ``},
		"it is killed": {[]string{"--grace=1s"}, tree("a[-TERM]"), 1, []string{row + `perl +TERM 0\.\ds +\d\.\ds SIGKILL +now: the worker$`,
			`\nloses work: the stop took 1\.\ds\n- perl\[\d+\] was killed at the end of the grace period: a handler for SIGTERM\n`}, `killed perl`},
		"it takes too long": {[]string{"--grace=1s"}, tree("a[TERM]"), 1, []string{loses + `perl\[\d+\] was killed at the end of the grace period: a longer --grace`}, ``},
		"in the last call": {[]string{"--grace=8s"}, script(`trap "wait $p; exit 0" TERM; ` + drains + ` & p=$!; wait $p`), 1, []string{row + `perl +TERM [67]\.\ds [^\n]* left to sh\[\d+\]; at once if that ends`,
			loses + `perl\[\d+\] was signalled only [67]\.\ds after the stop signal, in the last [012]\.\ds of the grace period`}, ``},
		"a signal of the platform's": {[]string{"--stop-signal=USR1"}, tree("a[USR1=0,TERM]"), 0, []string{`\Aa stop by SIGUSR1`, `USR1 0\.\ds +\d\.\ds status 0 +now: the worker\n`}, `stopping: SIGUSR1`},
		"it is loading":              {nil, []string{"--", "perl", "-e", loads}, 1, []string{loses + `perl`}, ``},
		"it has loaded by then":      {[]string{"--during=sleep 4"}, []string{"--", "perl", "-e", loads}, 0, []string{arrive}, ``},
		"with work, which is done":   {[]string{"--during=touch FILE; exit 0", "--check=rm FILE"}, tree("a[TERM=0]"), 0, []string{`\ndrains: the stop took \d\.\ds\n\z`}, ``},
		"with work, which is lost":   {[]string{"--check=exit 4"}, tree("a[TERM=0]"), 1, []string{loses + `--check exited with status 4\n\z`}, ``},
		"the check is wrong":         {[]string{"--during=true", "--check=true"}, []string{"--", "sleep", "100"}, 1, []string{loses + `sleep\[\d+\] has no SIGTERM handler`}, ``},
	} {
		t.Run(name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				file, port := filepath.Join(t.TempDir(), "ready"), fmt.Sprint(harness.ReservePort(t))
				args := append(append([]string{"plan"}, tt.flags...), tt.command...)
				for i := range args {
					args[i] = strings.NewReplacer("FILE", file, "PORT", port).Replace(args[i])
				}
				r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Args: args})
				for _, pattern := range append(tt.out, head) {
					if !harness.Matches(pattern, r.Out) {
						t.Errorf("not in it: %s", pattern)
					}
				}
				if r.Status != tt.status || !strings.Contains(r.Err, tt.stderr) {
					t.Errorf("exit status %d, want %d, and %q", r.Status, tt.status, tt.stderr)
				}
				if t.Failed() {
					t.Logf("stdout:\n%s\nstderr:\n%s", r.Out, r.Err)
				}
			})
		})
	}
}

// Where there was no stop to judge by, one line says why, and standard output has nothing.
func TestNoPlan(t *testing.T) {
	harness.Need(t, "perl")
	for name, tt := range map[string]struct {
		args   string
		status int
		stderr string // its last line
	}{
		"the worker fails":         {"-- perl -e die", 1, `drainit: no plan: perl\[\d+\] exited with status 255 after \d\.\ds`},
		"the worker exits with 0":  {"-- true", 1, `drainit: no plan: true\[\d+\] exited with status 0 after \d\.\ds`},
		"there is no such worker":  {"-- /no/such/file", 127, `"cannot run \S+: there is no such file"`},
		"a stop signal comes":      {"-- perl -e sleep(.1),kill(TERM=>getppid),sleep", 1, `drainit: no plan: a stop signal came before the processes had settled`},
		"there is no work for it":  {"--during=false -- sleep 100", 1, `drainit: no plan: --during exited with status 1`},
		"--during hangs":           {"--during=sleep\u00a0100 --within=1s -- sleep 100", 1, `drainit: no plan: --during took longer than 1s \(--within\)`},
		"a stop comes in --during": {"--during=kill\u00a0$PPID;sleep\u00a0100 -- sleep 100", 1, `drainit: no plan: --during: a stop signal has ended it`},
		"a stop comes in --check":  {"--check=kill\u00a0$PPID;sleep\u00a0100 -- perl -e $SIG{TERM}=sub{exit(0)};sleep(1)while(1)", 1, `drainit: no plan: --check: a stop signal has ended it`},
	} {
		t.Run(name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Args: append([]string{"plan"}, blanks(tt.args)...)})
				if strings.Contains(r.Err, "repeated") || strings.Contains(r.Err, "second") {
					t.Errorf("drainit has sent itself a second stop signal:\n%s", r.Err)
				}
				if r.Status != tt.status || r.Out != "" || !harness.Matches(tt.stderr, r.Err) {
					t.Errorf("exit status %d, want %d\nstdout:\n%s\nstderr:\n%s\nwant %s", r.Status, tt.status, r.Out, r.Err, tt.stderr)
				}
			})
		})
	}
}

// blanks parts a command line at its blanks, but for those that are protected.
func blanks(line string) (words []string) {
	for word := range strings.SplitSeq(line, " ") {
		words = append(words, strings.ReplaceAll(word, "\u00a0", " "))
	}
	return words
}

// A launcher, or a shell with a trap, that has started no process yet is waited for.
func TestPlanWaitsForTheFirstChild(t *testing.T) {
	t.Parallel()
	harness.Need(t, "perl", "bash")
	const late = `trap 'exit 0' TERM; while ((SECONDS < 4)); do :; done; perl -e '$SIG{TERM} = sub { exit 0 }; sleep 1 while 1'`
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
	r := harness.RunToEnd(t, harness.Launch{Args: []string{"plan", "--", "bash", "-c", `trap 'exit 0' TERM; while :; do read -t 1 line; done`}})
	if r.Status != 0 || !harness.Matches(`\nsignals arrive: [^\n]*\n- the processes still changed after 15s: `, r.Out) {
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
		"signals arrive": {"a[TERM=0]", `"verdict":"signals_arrive","status":0,"reasons":\[\],"took_s":`}, "loses work": {"a[-TERM]", `"verdict":"loses_work","status":1,"reasons":\[\{"pid":`},
		"no plan": {"-", `"verdict":"no_plan","status":1,"reasons":\[\{"why":"perl`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := harness.RunToEnd(t, harness.Launch{Args: harness.Line([]string{"plan", "--json", "--grace=2s"}, harness.Tree(tt.tree)...)})
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
