package inspect

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// parsedStatus is what status --json says.
type parsedStatus struct {
	Phase       string `json:"phase"`
	Ready       bool   `json:"ready"`
	WorkerAlive bool   `json:"worker_alive"`
	PID         int    `json:"pid"`
	Processes   []struct {
		PID   int     `json:"pid"`
		PPID  int     `json:"ppid"`
		Comm  string  `json:"comm"`
		State string  `json:"state"`
		Age   float64 `json:"age_s"`
	} `json:"processes"`

	WorkerStopped bool      `json:"worker_stopped"`
	QuietHandled  *bool     `json:"quiet_handled"`
	StopSignal    string    `json:"stop_signal"`
	StoppingSince time.Time `json:"stopping_since"`
	Left          *float64  `json:"left_s"`
}

// stopPart is what the first line of a status says of a stop, where it is known.
const stopPart = `(SIG\w+ [0-9.]+s ago, )?(SIGKILL in [0-9.]+s, )?`

// parsed is the one line of status --json. Parents come before their children.
func parsed(a harness.Answer) (s parsedStatus) {
	a.T.Helper()
	line := strings.TrimSuffix(a.Out, "\n")
	harness.WantPrintable(a.T, line)
	if err := json.Unmarshal([]byte(line), &s); err != nil {
		a.T.Fatalf("%v: %q", err, a.Out)
	}
	seen := []int{s.PID}
	for _, p := range s.Processes {
		const rounded = 0.2
		if !slices.Contains(seen, p.PPID) || p.Comm == "" || len(p.State) != 1 || p.Age < 0 ||
			p.Age > time.Since(testsBegan).Seconds()+rounded {
			a.T.Errorf("no such process: %+v", p)
		}
		seen = append(seen, p.PID)
	}
	return s
}

// testsBegan is before any process that the tests start.
var testsBegan = time.Now()

// inPhase is what all forms of status must say in one phase.
type inPhase struct {
	phase string
	ended bool // the worker
	below int
}

func (want inPhase) check(t *testing.T, ask func(args ...string) harness.Answer) {
	t.Helper()
	ready, ended := 1, ""
	if want.ended {
		ended = "the worker has ended, "
	}
	if want.phase == "running" {
		ready = 0
	}
	asJSON, both := ask("status", "--json"), ask("status", "--json", "--ready")
	asJSON.Want(0, `\A{.*}\n\z`, "")
	both.Want(ready, `\A{.*}\n\z`, "")
	ask("status", "--ready").Want(ready, `\A`+want.phase+`\n\z`, "")
	s := parsed(asJSON)
	if s.Phase != want.phase || s.Ready != (ready == 0) || s.WorkerAlive == want.ended || s.WorkerStopped ||
		(s.QuietHandled != nil) != (want.phase == "quiet") {
		t.Errorf("%+v, want %+v", s, want)
	}
	if n := len(parsed(both).Processes); n != want.below || len(s.Processes) != n {
		t.Errorf("%d processes, want %d: %s", n, want.below, both.Out)
	}
	decided := "" // of each process
	if want.phase == "draining" {
		decided = `( +([0-9.]+s: \w|has no SIGTERM handler).*)?` // by drainit so far, or what it will do
	}
	text := fmt.Sprintf(`\A%s: drainit\[%d\], (port \d+ of loopback does not accept yet, )?%s%s%d `+
		`process(es)? below it\n`, want.phase, s.PID, ended, stopPart, want.below)
	if want.below > 0 {
		text += "    PID    PPID STATE      AGE COMMAND\n"
	}
	for _, p := range s.Processes {
		text += fmt.Sprintf(`%7d %7d [A-Z]     [ .0-9]{7}s %s%s\n`, p.PID, p.PPID, regexp.QuoteMeta(p.Comm),
			decided)
	}
	ask("status").Want(0, text+`\z`, "")
}

// askedOfTree runs a test with a tree below drainit, of which all processes are ready.
func askedOfTree(t *testing.T, tree string, test func(t *testing.T, c *container)) {
	t.Helper()
	asked(t, harness.Line([]string{harness.LongGrace}, harness.Tree(tree)...),
		func(t *testing.T, c *container) {
			for _, name := range regexp.MustCompile(`\b[a-z]\b`).FindAllString(tree, -1) {
				c.WaitOut(`^ready ` + name)
			}
			test(t, c)
		})
}

func TestStatusInEachPhase(t *testing.T) {
	askedOfTree(t, "a[TSTP,CONT,TERM](b(c) d)", func(t *testing.T, c *container) {
		inPhase{"running", false, 4}.check(t, c.Ask)
		for _, step := range []struct {
			sig   unix.Signal
			phase string
		}{{unix.SIGTSTP, "quiet"}, {unix.SIGCONT, "running"}, {unix.SIGTERM, "draining"}} {
			c.Signal(step.sig)
			c.WaitOut(`^a got ` + strings.TrimPrefix(unix.SignalName(step.sig), "SIG"))
			inPhase{step.phase, false, 4}.check(t, c.Ask)
		}
	})
}

// stopPublished waits until status knows the times of a stop: after the signals.
func stopPublished(t *testing.T, c *container) {
	t.Helper()
	harness.WaitUntil(t, "the times of the stop are published",
		func() bool { return !parsed(c.Ask("status", "--json")).StoppingSince.IsZero() })
}

// The stop signal, since when, and the time left are those that drainit goes by.
func TestStatusSaysTheStopAndTheTimeLeft(t *testing.T) {
	asked(t, harness.Words("--grace=50s -- WORKER listen -catch INT,USR1 -end USR1 -exit 7"),
		func(t *testing.T, c *container) {
			before := time.Now()
			c.Signal(unix.SIGINT)
			c.WaitOut(`^got SIGINT`)
			stopPublished(t, c)
			c.Ask("status").Want(0, `\Adraining: drainit\[\d+\], SIGINT [0-9.]+s ago, SIGKILL in `+
				`[0-9.]+s, 1 process below it\n`, "")
			s := parsed(c.Ask("status", "--json"))
			const rounded = time.Second
			after := time.Now()
			if s.StopSignal != "SIGINT" || s.StoppingSince.Before(before.Add(-rounded)) ||
				s.StoppingSince.After(after.Add(rounded)) {
				t.Errorf("%+v, sent at %v, asked at %v", s, before, after)
			}
			if s.Left == nil || *s.Left > 50 || *s.Left < (50*time.Second-after.Sub(before)-rounded).
				Seconds() {
				t.Errorf("%+v, %v after the signal", s, after.Sub(before))
			}
			c.Signal(unix.SIGUSR1)
			c.WantExit(7)
		})
}

// A signal that is taken for the stop is not the one that processes are sent: status goes by the latter.
func TestStatusOfASignalThatMeansTheStop(t *testing.T) {
	asked(t, harness.Words("--grace=50s -- WORKER listen -catch TERM,USR1 -end USR1 -exit 7"),
		func(t *testing.T, c *container) {
			c.Signal(unix.SIGPWR)
			c.WaitOut(`^got SIGTERM`)
			stopPublished(t, c)
			c.Ask("status").Want(0, `\Adraining: drainit\[\d+\], SIGPWR [0-9.]+s ago, SIGKILL in [^,]+, `+
				`1 process below it\n.*\n.* [0-9.]+s: sent SIGTERM: the worker\n\z`, "")
			if s := parsed(c.Ask("status", "--json")); s.StopSignal != "SIGPWR" {
				t.Errorf("%+v", s)
			}
			c.Ask("status", "--json").Want(0, `"on_stop":"handles"`, "")
			c.Signal(unix.SIGUSR1)
			c.WantExit(7)
		})
}

// A worker that has exited by itself, and left a child that drains for good: there is no stop signal, but
// a time.
func TestVerbsWhenTheWorkerHasEnded(t *testing.T) {
	askedOf(t, func(t *testing.T, run func(harness.Launch) *container) {
		c := run(harness.Launch{Args: harness.Line([]string{harness.LongGrace},
			harness.Script(`$name = "child"; catch "TERM"; spawn { forever }; exit 5`)...)})
		c.WaitOut(`^child got TERM`)
		c.WaitTitle("drainit:ended")
		stopPublished(t, c)
		inPhase{"draining", true, 1}.check(t, c.Ask)
		const status = `draining: drainit\[\d+\], the worker has ended, SIGKILL in [0-9.]+s, 1 process ` +
			`below it\n`
		c.Ask("status").Want(0, `\A`+status, "")
		if s := parsed(c.Ask("status", "--json")); s.StopSignal != "" || s.StoppingSince.IsZero() ||
			s.Left == nil || *s.Left > 30 {
			t.Errorf("%+v", s)
		}
		wantNothingMoreToDo(c, status)
	})
}

// What an engine starts in a running container is none of drainit's, nor is the one who asks.
func TestStatusShowsNoProcessOfAnExec(t *testing.T) {
	t.Parallel()
	p := startListening(t, harness.Setup{})
	harness.Run(t, harness.Launch{NoPID1: true, Under: p.Entering(0, ""), Bin: harness.WorkerBin,
		Args: []string{"listen"}}).WaitOut(`^ready`)
	inPhase{"running", false, 1}.check(t, p.Ask)
}

// A name may hold anything, arguments hold secrets.
func TestStatusShowsNamesAndNoArguments(t *testing.T) {
	names := maps.Clone(harness.HostileNames)
	names["plain, with parentheses"] = "a) (b) S 1 ("
	for title, name := range names {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			harness.NeedAsk(t)
			p := harness.Run(t, harness.Launch{Args: harness.Line([]string{harness.LongGrace},
				harness.Renamed(name, "", "--password=hunter2")...)})
			p.WaitReady()
			text, asJSON := p.Ask("status"), p.Ask("status", "--json")
			text.Want(0, `\Arunning: drainit\[1\], 1 process below it\n.*COMMAND\n.*\n\z`, "")
			for line := range strings.Lines(text.Out + asJSON.Out) {
				harness.WantPrintable(t, strings.TrimSuffix(line, "\n"))
				if strings.Contains(line, "hunter2") || strings.HasPrefix(line, "drainit: FORGE") {
					t.Error(line)
				}
			}
			if s := parsed(asJSON); len(s.Processes) != 1 || strings.HasPrefix(title, "plain") &&
				s.Processes[0].Comm != name {
				t.Errorf("%+v, want the name %q", s, name)
			}
		})
	}
}

// A prober must not take a lost answer for a good one.
func TestStatusThatCannotBePrintedFails(t *testing.T) {
	t.Parallel()
	p := startListening(t, harness.Setup{})
	p.AskAs(harness.Ask{Bin: "/bin/sh"}, "-c", `exec "$0" status >/dev/full`, harness.DrainitBin).
		Want(125, "", `^drainit: .*no space left`)
}
