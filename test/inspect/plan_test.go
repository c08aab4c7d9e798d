package inspect

import (
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// The plan goes by the flags and the variables that drainit was given, and by what each process does with the signals.
func TestPlanGoesByDrainitsSettings(t *testing.T) {
	harness.Need(t, "perl")
	harness.Asked(t, func(t *testing.T, run func(harness.Launch) *harness.Container) {
		c := run(harness.Launch{Env: []string{"DRAINIT_GRACE=40s", "DRAINIT_REWRITE=TSTP:USR1"},
			Args: []string{"--stop-signal", "QUIT", "--", "perl", "-e", harness.PerlTree, "a[QUIT,USR1](b[QUIT](c) d[-QUIT])"}})
		for name := range strings.FieldsSeq("a b c d") {
			c.WaitOut(`^ready ` + name)
		}
		c.WaitTitle("drainit:run")
		const row = ` *\d+ `
		c.Ask("status", "--plan").Want(0, `\Arunning: drainit\[\d+\], 4 processes below it\n`+
			`a stop by SIGQUIT: the last call after 30s, the final call after 38s, SIGKILL after 40s\n`+
			` +PID SIGQUIT +SIGUSR1 +COMMAND +STOP\n`+
			row+`handles +handles +perl +now, the worker\n`+
			row+`handles +dies +  perl +left to perl\[\d+\]; else 2s before SIGKILL\n`+
			row+`dies +dies +    perl +not while perl\[\d+\] lives: it would only die of the signal\n`+
			row+`ignores +dies +  perl +not while perl\[\d+\] lives: it (does not act upon|would only die of) the signal\n\z`, "")
	})
}

// Another user may read the command line, and neither the environment nor what a process runs: that is said.
func TestPlanSaysWhatItCouldNotRead(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := harness.Run(t, harness.Launch{Env: []string{"DRAINIT_GRACE=40s"}, Args: []string{"--stop-signal=HUP", "--", harness.WorkerBin, "listen", "-catch", "HUP", "-exit", "7"}})
	p.WaitReady()
	a := p.AskAs(harness.Ask{Args: []string{"status", "--plan"}, UID: harness.PlainUser})
	a.Want(0, `\na stop by SIGHUP: the last call after 22\.5s, .*SIGKILL after 35s\n.*\n +\d+ handles .*now, the worker\n\z`,
		`cannot read all settings of drainit\[1\].*permission denied\n.*/proc does not tell all about worker\[\d+\]`)
}

// In a drain, each process that is left has what was done with it, or what it waits for.
func TestStatusSaysWhatEachProcessWaitsFor(t *testing.T) {
	askedOfTree(t, "a[TERM](b[TERM](c) d[TERM])", "a b c d", func(t *testing.T, c *harness.Container) {
		c.Send(unix.SIGTERM)
		const row, left = `(?m)^ +\d+ +\d+ \w +[0-9.]+s perl +[0-9.]+s: `, `left to perl\[\d+\]$`
		harness.WaitUntil(t, "all is decided", func() bool { return harness.Matches(`perl +\S+ not while`, c.Ask("status").Out) })
		out := c.Ask("status").Out
		for pattern, n := range map[string]int{row + `sent SIGTERM: the worker$`: 1, row + left: 2, row + `not while perl\[\d+\] lives: it would only die of the signal$`: 1} {
			if got := len(regexp.MustCompile(pattern).FindAllString(out, -1)); got != n {
				t.Errorf("%d rows match %s, want %d, in\n%s", got, pattern, n, out)
			}
		}
	})
}

// drainit plan exits with 1 if a process was killed, or none was there to be stopped.
func TestRehearsal(t *testing.T) {
	harness.Need(t, "perl")
	const table = `(?s)\Aready.*\na stop by SIG\w+: .*\nwhat happened, after each \|:\n.*`
	for name, tt := range map[string]struct {
		flag, tree, out, stderr string
		status                  int
	}{
		"each ends in time": {"--grace=20s", "a[TERM=7](b)", table +
			`now, the worker \| [0-9.]+s: sent SIGTERM: the worker \| [0-9.]+s: exited with status 7\n` +
			`[^\n]*not while perl\[\d+\] lives: it would only die of the signal \| [^\n]*[0-9.]+s: sent SIGTERM: [^\n]* \| [0-9.]+s: died of SIGTERM\n\z`, `stopped after`, 0},
		"one lives to the end of the grace period": {"--grace=1s", "a[-TERM]", table + `now, the worker \| [^\n]*: sent SIGTERM: the worker \| \d+\.\ds: died of SIGKILL\n\z`, `killed perl`, 1},
		"another's child": {"--grace=20s", `trap 'kill $!; wait; exit 7' TERM; sleep 100 & echo ready; wait`, table +
			`now, the worker \| [^\n]* \| [0-9.]+s: exited with status 7\n[^\n]* sleep [^\n]* \| [0-9.]+s: ended\n\z`, `stopped after`, 0},
		"a signal of the platform's": {"--stop-signal=USR1", "a[USR1=0,TERM]", table + `\| [^\n]*: sent SIGUSR1: the worker \| [0-9.]+s: exited with status 0\n\z`, `stopping: SIGUSR1`, 0},
		"the worker fails":           {"--grace=20s", "-", `\A\z`, `(?s)bad tree.*drainit: no plan: the worker ended`, 255},
		"the worker exits with 0":    {"--grace=20s", "", `\A\z`, `drainit: no plan: the worker ended`, 1},
	} {
		command := []string{"perl", "-e", harness.PerlTree, tt.tree}
		switch {
		case tt.tree == "":
			command = []string{"true"}
		case strings.HasPrefix(tt.tree, "trap"):
			command = []string{"sh", "-c", tt.tree}
		}
		t.Run(name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Args: append([]string{"plan", tt.flag, "--"}, command...)})
				if r.Status != tt.status || !harness.Matches(tt.out, r.Out) || !harness.Matches(tt.stderr, r.Err) {
					t.Errorf("exit status %d, want %d\nstdout:\n%s\nwant %s\nstderr:\n%s\nwant %s", r.Status, tt.status, r.Out, tt.out, r.Err, tt.stderr)
				}
			})
		})
	}
}
