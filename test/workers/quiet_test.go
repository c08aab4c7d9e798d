package workers

import (
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// sidekiqFetch is for how long sidekiq waits for a job at once: after twice
// that, one that it has not begun it won't begin.
const sidekiqFetch = 2 * time.Second

// A quieted sidekiq leaves new jobs in the queue, and a resumed one fetches
// them.
func TestSidekiqIsQuietedAndResumed(t *testing.T) {
	t.Parallel()
	s := sidekiqWay.startQuietable(t, 50*time.Millisecond)
	sidekiqWay.begin(t, s)
	harness.WaitUntil(t, "the first job is done", func() bool { return s.count("done") == 1 })

	s.init.Signal(unix.SIGTSTP)
	s.init.WaitOut(`Received TSTP, no longer accepting new work`)
	sidekiqWay.begin(t, s)
	time.Sleep(2 * sidekiqFetch)
	if s.count("begin") != 1 {
		t.Fatalf("the quiet sidekiq took the job:\n%s", s.lines())
	}

	s.init.Signal(unix.SIGCONT)
	harness.WaitUntil(t, "the second job is done", func() bool { return s.count("done") == 2 })
	s.wantDrain(t, 0)
}

// script blocks TSTP and never takes it, so no process is quiet by it. When it ends, the kernel
// sends its application HUP, which therefore waits for the last call.
func TestQuietIsNotTakenByScript(t *testing.T) {
	t.Parallel()
	w := scriptWay.readName()
	s := w.startQuietable(t, time.Second, "--grace", "8s")
	harness.WaitUntil(t, "the job begins", func() bool { return s.count("begin") == 1 })
	s.init.Signal(unix.SIGTSTP)
	s.init.WaitErr(`quiet has no effect`)
	s.wantDrain(t, w.status)
}

// startQuietable starts the way under drainit and no job yet.
func (w way) startQuietable(t *testing.T, job time.Duration, flags ...string) *scene {
	t.Helper()
	w.need(t, false)
	s := newScene(t, job)
	w.launch(t, s, harness.DrainitBin, append([]string{"-v", harness.LongGrace}, flags...))
	return s
}

// wantDrain asks for the stop, and checks drainit's status and that the handler ran once.
func (s *scene) wantDrain(t *testing.T, status int) {
	t.Helper()
	s.init.Signal(syscall.SIGTERM)
	s.init.WantExit(status)
	if got := s.count("signalled"); got != 1 {
		t.Errorf("the handler ran %d times\n%s\n%s", got, s.lines(), s.init.Err())
	}
	s.init.WantNothingLeft()
}
