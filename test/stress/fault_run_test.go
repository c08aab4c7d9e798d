package stress

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
	"drainit/test/harness"
)

// faulted is what came of a run.
type faulted struct {
	status    int
	signalled []string // what the processes below drainit printed, sorted: which each signal reached
	lines     string   // drainit's log, without numbers
	answer    string   // to a probe
	started   bool
	ended     bool // by itself, when all its limits were over
	trace     string
}

// run runs a scene under a strace to its end. Each answer may take so long, and longer while
// anything runs.
func (s *faultScene) run(t *testing.T, strace func(file string) []string, answers time.Duration) faulted {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace")
	d := s.start(t, strace(file))
	d.answers = answers
	s.drive(d)
	r := faulted{ended: d.ends()}
	if r.status = d.Wait(); r.ended && !r.aborted() { // else the worker may live, and have the pipes
		d.WantNothingLeft()
		d.Out()
		d.Err()
	}
	r.answer = d.answer
	r.lines = unnumbered(d.Stderr.Text())
	out := d.Stdout.Text()
	r.started = strings.Contains(out, "ready") || strings.Contains(out, "ran")
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "ready") {
			r.signalled = append(r.signalled, strings.TrimSpace(line))
		}
	}
	slices.Sort(r.signalled)
	<-d.Tracer
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r.trace = string(b)
	return r
}

var digits = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)

// unnumbered leaves out what differs from run to run: times, pids and the like.
func unnumbered(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, digits.ReplaceAllString(strings.TrimSpace(line), "N"))
	}
	return strings.Join(lines, "\n")
}

// The outcomes of a fault, in the words of the table.
const (
	asWithout    = "as without"
	otherLines   = "as without, but for lines of the log"
	notPassedOn  = "a signal is not passed on"
	notAnswered  = "a probe has no answer"
	killed       = "killed when the grace is over, 137"
	notLent      = "the worker has to wait for the terminal, until it is stopped"
	notSuccessor = "the status is the shell's, and not that of its successor, which /proc does not show"
	notStarted   = "a line, and no worker: "
	abortsEarly  = "the Go runtime aborts, before there is a worker"
	aborts       = "the Go runtime aborts"
)

// outcome is what the fault changed. What must not happen is an error of the test.
func (r faulted) outcome(t *testing.T, f fault) string {
	t.Helper()
	without := f.scene.without
	if !r.ended {
		t.Error("it does not end")
	}
	for i, line := range r.signalled {
		if i > 0 && line == r.signalled[i-1] && strings.Contains(line, "got") {
			t.Errorf("signalled twice: %s", line)
		}
	}
	switch {
	case r.aborted() && r.started:
		return aborts
	case r.aborted():
		return abortsEarly
	case !r.started && r.status >= 125 && r.status <= 127:
		if strings.Contains(r.lines, "\n") || r.lines == "" {
			t.Error("not one line")
		}
		return notStarted + strconv.Itoa(r.status)
	case r.status == without.status && r.answer != without.answer:
		return notAnswered
	case r.status == without.status && slices.Equal(r.signalled, without.signalled) && r.lines == without.lines:
		return asWithout
	case r.status == without.status && slices.Equal(r.signalled, without.signalled):
		return otherLines
	case r.status == without.status:
		return notPassedOn
	case r.status == 137:
		return killed
	case f.scene.name == "orphans" && (r.status == 143 || f.call == "kill" && r.status == 0) && slices.Equal(r.signalled, without.signalled):
		return notSuccessor
	case f.scene.name == "terminal" && r.status == 143:
		return notLent
	}
	t.Error("no such outcome")
	return "?"
}

// aborted reports whether the Go runtime has ended drainit: by exit(2), or where even
// that is in doubt, by a signal.
func (r faulted) aborted() bool {
	return r.status == 2 || r.status == 128+int(unix.SIGSEGV) || r.status == 128+int(unix.SIGABRT)
}

func (r faulted) String() string {
	failed := ""
	for line := range strings.Lines(r.trace) {
		if strings.Contains(line, "(INJECTED)") {
			failed += line
		}
	}
	return fmt.Sprintf("exit status %d, workers %q, log:\n%s\n%s", r.status, r.signalled, r.lines, failed)
}

// driver sends a scene's signals. A fault may swallow what it waits for.
type driver struct {
	*harness.Init
	args    []string      // drainit's
	input   *os.File      // the worker's
	answer  string        // to a probe
	answers time.Duration // how long an answer may take
}

// swallowed is how long an answer may take that a fault may have swallowed.
const swallowed = 2 * time.Second

// reaches waits for a line of the worker's, or the end, or until it is clear that none comes.
func (d *driver) reaches(pattern string) bool { return d.reachesIn(d.answers, pattern) }

// ready waits until the worker runs, or drainit has ended without.
func (d *driver) ready() bool { return d.reachesIn(harness.Patience, `^ready`) }

func (d *driver) reachesIn(atMost time.Duration, pattern string) bool {
	re := regexp.MustCompile("(?m)" + pattern)
	return d.comes(atMost, func() bool { return re.MatchString(d.Stdout.Text()) })
}

// comes waits for something, or the end, or until it is clear that it does not come: it may take
// so long, and longer while drainit or anything below it runs.
func (d *driver) comes(atMost time.Duration, ok func() bool) bool {
	const idle = 100 * time.Millisecond
	for began := time.Now(); !ok(); time.Sleep(10 * time.Millisecond) {
		took := time.Since(began)
		if !d.Running() || took > harness.Patience || took > atMost && harness.IsIdle(idle, d.Below()...) {
			return ok()
		}
	}
	return true
}

func (d *driver) tell(sig syscall.Signal, pattern string) {
	d.Signal(sig)
	d.reaches(pattern)
}

func (d *driver) stop() { d.Signal(unix.SIGTERM) }

// ends waits for the end of drainit, which is killed where it does not come.
func (d *driver) ends() bool {
	select {
	case <-d.Done:
		return true
	case <-time.After(faultGrace + machine.KillingTime + harness.Patience):
		_ = d.Cmd.Process.Kill()
		<-d.Done
		return false
	}
}
