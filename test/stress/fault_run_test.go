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

var digits = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)

// run runs a scene under a strace to its end. Each answer may take so long, and longer while
// anything runs.
func (s *faultScene) run(t *testing.T, strace func(file string) []string, answers time.Duration) faulted {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace")
	d := s.start(t, strace(file))
	d.answers = answers
	// The script is not driven; of another one that is not ready drainit has ended without a worker.
	if s.name == "script" || d.reachesIn(harness.Patience, `^ready`) {
		s.drive(d)
	}
	r := faulted{ended: d.ends(), answer: d.answer}
	if r.status = d.Wait(); r.ended && !r.aborted() { // else the worker may live, and have the pipes
		d.WantNothingLeft()
		d.Out()
		d.Err()
	}
	r.lines = strings.TrimSpace(digits.ReplaceAllString(d.Stderr.Text(), "N"))
	for _, line := range harness.LinesOf(d.Stdout.Text()) {
		line = strings.TrimSpace(line)
		r.started = r.started || strings.Contains(line, "ready") || line == "ran"
		if !strings.HasPrefix(line, "ready") {
			r.signalled = append(r.signalled, line)
		}
	}
	slices.Sort(r.signalled)
	<-d.Tracer
	r.trace = harness.TextOf(t, file)
	return r
}

// The outcomes of a fault, in the words of the table.
const (
	asWithout  = "as without"
	otherLines = "as without, but for lines of the log"
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
	same := slices.Equal(r.signalled, without.signalled)
	switch {
	case r.aborted() && r.started:
		return "the Go runtime aborts"
	case r.aborted():
		return "the Go runtime aborts, before there is a worker"
	case !r.started && r.status >= 125 && r.status <= 127:
		if strings.Contains(r.lines, "\n") || r.lines == "" {
			t.Error("not one line")
		}
		return "a line, and no worker: " + strconv.Itoa(r.status)
	case r.status == without.status && r.answer != without.answer:
		return "a probe has no answer"
	case r.status == without.status && same && r.lines == without.lines:
		return asWithout
	case r.status == without.status && same:
		return otherLines
	case r.status == without.status:
		return "a signal is not passed on"
	case r.status == 137:
		return "killed when the grace is over, 137"
	case f.scene.name == "orphans" && (r.status == 143 || f.call == "kill" && r.status == 0) && same:
		return "the status is the shell's, and not that of its successor, which /proc does not show"
	case f.scene.name == "terminal" && r.status == 143:
		return "the worker has to wait for the terminal, until it is stopped"
	}
	t.Error("no such outcome")
	return "?"
}

// aborted reports whether the Go runtime has ended drainit: by exit(2), or where even
// that is in doubt, by a signal.
func (r faulted) aborted() bool {
	return slices.Contains([]int{2, 128 + int(unix.SIGSEGV), 128 + int(unix.SIGABRT)}, r.status)
}

var injected = regexp.MustCompile(`(?m)^.*\(INJECTED\).*$`)

func (r faulted) String() string {
	return fmt.Sprintf("exit status %d, workers %q, log:\n%s\n%q", r.status, r.signalled, r.lines,
		injected.FindAllString(r.trace, -1))
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

func (d *driver) reachesIn(atMost time.Duration, pattern string) bool {
	re := regexp.MustCompile("(?m)" + pattern)
	return d.comes(atMost, func() bool { return re.MatchString(d.Stdout.Text()) })
}

// comes waits for something, or the end, or until it is clear that it does not come: it may take
// so long, and longer while drainit or anything below it runs.
func (d *driver) comes(atMost time.Duration, ok func() bool) bool {
	const idle = 100 * time.Millisecond
	began := time.Now()
	harness.Within(harness.Patience, func() bool {
		return ok() || !d.Running() || time.Since(began) > atMost && harness.IsIdle(idle, d.Below()...)
	})
	return ok()
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
