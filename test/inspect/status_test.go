package inspect

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// parsedStatus is what status --json says.
type parsedStatus struct {
	Phase       string        `json:"phase"`
	Ready       bool          `json:"ready"`
	WorkerAlive bool          `json:"worker_alive"`
	PID         int           `json:"pid"`
	Processes   []toldProcess `json:"processes"`

	WorkerStopped bool      `json:"worker_stopped"`
	QuietHandled  *bool     `json:"quiet_handled"`
	StopSignal    string    `json:"stop_signal"`
	StoppingSince time.Time `json:"stopping_since"`
	Left          *float64  `json:"left_s"`
}

// stopPart is what the first line of a status says of a stop, where it is known.
const stopPart = `(SIG\w+ [0-9.]+s ago, )?(SIGKILL in [0-9.]+s, )?`

type toldProcess struct {
	PID   int     `json:"pid"`
	PPID  int     `json:"ppid"`
	Comm  string  `json:"comm"`
	State string  `json:"state"`
	Age   float64 `json:"age_s"`
}

// parsed is the one line of status --json, in which every field stands that is
// documented and no other.
func parsed(a harness.Answer) (s parsedStatus) {
	a.T.Helper()
	line, ok := strings.CutSuffix(a.Out, "\n")
	if !ok || strings.Contains(line, "\n") {
		a.T.Errorf("not one line: %q", a.Out)
	}
	harness.WantPrintable(a.T, line)
	var fields map[string]json.RawMessage
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		a.T.Fatalf("%v: %q", err, line)
	}
	if err := json.Unmarshal([]byte(line), &fields); err != nil || !hasAll(fields, "phase", "ready", "worker_alive", "pid", "processes") || string(fields["processes"]) == "null" {
		a.T.Errorf("fields missing: %v %q", err, line)
	}
	for _, p := range s.Processes {
		if p.PID < 2 || p.PPID < 1 || p.Comm == "" || len(p.State) != 1 || p.Age < 0 || p.Age > time.Since(testsBegan).Seconds()+rounded {
			a.T.Errorf("no such process: %+v", p)
		}
	}
	return s
}

// testsBegan is before any process that the tests start.
var testsBegan = time.Now()

// rounded is by how much an age may be more than it is, in seconds.
const rounded = 0.2

func hasAll(fields map[string]json.RawMessage, names ...string) bool {
	for _, name := range names {
		if fields[name] == nil {
			return false
		}
	}
	return true
}

// rows are the lines of the table of a status for people.
func rows(a harness.Answer) (rows [][]string) {
	a.T.Helper()
	lines := harness.LinesOf(a.Out)
	if len(lines) < 2 {
		return nil
	}
	header := regexp.MustCompile(`^ *PID +PPID +STATE +AGE +COMMAND$`)
	if !header.MatchString(lines[1]) {
		a.T.Errorf("the header is %q", lines[1])
	}
	row := regexp.MustCompile(`^ *(\d+) +(\d+) +([A-Z]) +([0-9.]+s) (.+)$`)
	for _, line := range lines[2:] {
		harness.WantPrintable(a.T, line)
		m := row.FindStringSubmatchIndex(line)
		if m == nil {
			a.T.Errorf("the row is %q", line)
			continue
		}
		for group, column := range map[int]string{1: " PID", 2: " PPID", 4: " AGE"} {
			if end := strings.Index(lines[1], column) + len(column); m[2*group+1] != end {
				a.T.Errorf("not right-aligned:\n%s\n%s", lines[1], line)
			}
		}
		if m[10] != strings.Index(lines[1], "COMMAND") {
			a.T.Errorf("not below COMMAND:\n%s\n%s", lines[1], line)
		}
		rows = append(rows, row.FindStringSubmatch(line)[1:])
	}
	return rows
}

// inPhase is what all forms of status must say in one phase.
type inPhase struct {
	phase string
	ended bool // the worker
	below int
}

func (want inPhase) check(t *testing.T, ask func(args ...string) harness.Answer) {
	t.Helper()
	status, ready := 0, 1
	if want.ended {
		status = 1
	}
	if want.phase == "running" {
		ready = 0
	}
	text, asJSON, readiness := ask("status"), ask("status", "--json"), ask("status", "--ready")
	ended, noun := "", "processes"
	if want.ended {
		ended = "the worker has ended, "
	}
	if want.below == 1 {
		noun = "process"
	}
	first := fmt.Sprintf(`\A%s: drainit\[\d+\], %s%s%d %s below it$`, want.phase, ended, stopPart, want.below, noun)
	text.Want(status, first, "")
	readiness.Want(ready, `\A`+want.phase+`\n\z`, "")
	asJSON.Want(status, `.`, "")
	both := ask("status", "--json", "--ready")
	both.Want(ready, `^{.*}\n\z`, "")
	if n := len(parsed(both).Processes); n != want.below {
		t.Errorf("%d processes, want %d: %s", n, want.below, both.Out)
	}
	s, rows := parsed(asJSON), rows(text)
	if (s.QuietHandled != nil) != (want.phase == "quiet") || s.WorkerStopped {
		t.Errorf("%+v", s)
	}
	if s.Phase != want.phase || s.Ready != (ready == 0) || s.WorkerAlive == want.ended || len(s.Processes) != want.below {
		t.Errorf("%+v, want %+v", s, want)
	}
	if !strings.Contains(text.Out, fmt.Sprintf(" drainit[%d], ", s.PID)) || len(rows) != want.below {
		t.Errorf("%+v, but:\n%s", s, text.Out)
	}
	for i, p := range s.Processes {
		if i < len(rows) && (rows[i][0] != strconv.Itoa(p.PID) || rows[i][1] != strconv.Itoa(p.PPID) || rows[i][4] != p.Comm) {
			t.Errorf("%+v is not %q", p, rows[i])
		}
	}
}

// tree is the command line of a PerlTree.
func tree(tree string) []string { return []string{"perl", "-e", harness.PerlTree, tree} }

// askedOfTree runs a test with a PerlTree below drainit, of which these processes are ready.
func askedOfTree(t *testing.T, text, ready string, test func(t *testing.T, c *harness.Container)) {
	t.Helper()
	harness.Need(t, "perl")
	harness.Asked(t, func(t *testing.T, run func(harness.Launch) *harness.Container) {
		c := run(harness.Launch{Args: harness.Line([]string{harness.LongGrace}, tree(text)...)})
		for _, name := range strings.Fields(ready) {
			c.WaitOut(`^ready ` + name)
		}
		c.WaitTitle("drainit:run")
		test(t, c)
	})
}

func TestStatusInEachPhase(t *testing.T) {
	askedOfTree(t, "a[TSTP,CONT,TERM](b)", "a b", func(t *testing.T, c *harness.Container) {
		inPhase{"running", false, 2}.check(t, c.Ask)
		c.Send(unix.SIGTSTP)
		c.WaitOut(`^a got TSTP`)
		inPhase{"quiet", false, 2}.check(t, c.Ask)
		c.Send(unix.SIGCONT)
		c.WaitOut(`^a got CONT`)
		inPhase{"running", false, 2}.check(t, c.Ask)
		c.Send(unix.SIGTERM)
		c.WaitOut(`^a got TERM`)
		inPhase{"draining", false, 2}.check(t, c.Ask)
	})
}

// stopPublished waits until status knows the times of a stop: behind the signals.
func stopPublished(t *testing.T, c *harness.Container) {
	t.Helper()
	harness.WaitUntil(t, "the times of the stop are published", func() bool { return !parsed(c.Ask("status", "--json")).StoppingSince.IsZero() })
}

// workerEnded runs a test with a worker that has exited and left a child, which drains for
// good.
func workerEnded(t *testing.T, test func(t *testing.T, c *harness.Container)) {
	t.Helper()
	harness.Need(t, "perl")
	harness.Asked(t, func(t *testing.T, run func(harness.Launch) *harness.Container) {
		c := run(harness.Launch{Args: harness.Line([]string{harness.LongGrace}, harness.Script(`$name = "child"; catch "TERM"; spawn { forever }; exit 5`)...)})
		c.WaitOut(`^child got TERM`)
		c.WaitTitle("drainit:ended")
		stopPublished(t, c)
		test(t, c)
	})
}

func TestStatusWhenTheWorkerHasEnded(t *testing.T) {
	workerEnded(t, func(t *testing.T, c *harness.Container) {
		inPhase{"draining", true, 1}.check(t, c.Ask)
	})
}

// As PID 1 drainit kills every process of its container, also one that asks.
func TestStatusOfAKillHasNoProcesses(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	c := harness.NewPod(t).Run(harness.NewCgroup(t), harness.Launch{Args: killedAtOnce()})
	release := killing(c.Init, c.Drainit)
	inPhase{"killing", false, 0}.check(t, c.Ask)
	release()
	c.WantExit(137)
}

// What an engine starts in a running container is none of drainit's, nor is the
// one who asks.
func TestStatusShowsNoProcessOfAnExec(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := harness.Start(t, "--", harness.WorkerBin, "listen")
	p.WaitReady()
	command := append(p.Entering(0, ""), harness.WorkerBin, "listen")
	guest := exec.Command(command[0], command[1:]...)
	out, err := guest.StdoutPipe()
	if err == nil {
		err = guest.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = guest.Process.Kill(); _ = guest.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil { // it is ready
		t.Fatal(err)
	}
	inPhase{"running", false, 1}.check(t, p.Ask)
}

// A name may hold anything, arguments hold secrets.
func TestStatusShowsNamesAndNoArguments(t *testing.T) {
	harness.Need(t, "perl")
	names := map[string]string{"with blanks": "a b  c ", "with parentheses": "a) (b) S 1 (", "empty": ""}
	for title, name := range harness.HostileNames {
		names[title] = name
	}
	for title, name := range names {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			harness.NeedAsk(t)
			p := harness.Run(t, harness.Launch{Args: []string{harness.LongGrace, "--", "perl", "-e", harness.Renamed, harness.Prctl, name, "", "--password=hunter2"}})
			p.WaitReady()
			text, asJSON := p.Ask("status"), p.Ask("status", "--json")
			text.Want(0, `\Arunning: drainit\[1\], 1 process below it\n.*COMMAND\n.*\n\z`, "")
			asJSON.Want(0, `.`, "")
			for line := range strings.Lines(text.Out + asJSON.Out) {
				harness.WantPrintable(t, strings.TrimSuffix(line, "\n"))
				if strings.Contains(line, "hunter2") || strings.HasPrefix(line, "drainit: FORGE") {
					t.Error(line)
				}
			}
			var s parsedStatus
			if err := json.Unmarshal([]byte(asJSON.Out), &s); err != nil || len(s.Processes) != 1 {
				t.Fatalf("%v: %s", err, asJSON.Out)
			}
			if plain := strings.HasPrefix(title, "with "); plain && s.Processes[0].Comm != name {
				t.Errorf("comm is %q, want %q", s.Processes[0].Comm, name)
			}
		})
	}
}

// Parents come before their children, and each has its own.
func TestStatusShowsTheTree(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := harness.StartTree(t, harness.Launch{Args: []string{harness.LongGrace}}, "a(b(c) d(e f))", "a b c d e f")
	p.WaitTitle("drainit:run")
	s := parsed(p.Ask("status", "--json"))
	seen := []int{s.PID}
	for _, process := range s.Processes {
		if !slices.Contains(seen, process.PPID) {
			t.Errorf("%+v comes before its parent", process)
		}
		seen = append(seen, process.PID)
	}
	if len(seen) != 7 || s.PID != 1 {
		t.Errorf("%+v", s)
	}
}

// A stopped drainit does not answer, but /proc does.
func TestStatusOfAStoppedDrainit(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := harness.Start(t, "--", harness.WorkerBin, "listen")
	p.WaitReady()
	harness.Freeze(t, p.Pid())
	inPhase{"running", false, 1}.check(t, p.Ask)
	p.Signal(unix.SIGCONT)
}

// A prober must not take a lost answer for a good one.
func TestStatusThatCannotBePrintedFails(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := harness.Start(t, "--", harness.WorkerBin, "listen")
	p.WaitReady()
	a := p.AskAs(harness.Ask{Bin: "/bin/sh", Args: []string{"-c", `exec "$0" status >/dev/full`, harness.DrainitBin}})
	a.Want(125, "", `^drainit: .*no space left`)
}
