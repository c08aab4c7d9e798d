package workers

import (
	"path/filepath"
	"strconv"
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
	s := sidekiqWay.startScene(t, 50*time.Millisecond)
	queueInSidekiq(t, s)
	harness.WaitUntil(t, "the first job is done", func() bool { return s.count("done") == 1 })

	s.init.Signal(unix.SIGTSTP)
	s.init.WaitOut(`Received TSTP, no longer accepting new work`)
	queueInSidekiq(t, s)
	time.Sleep(2 * sidekiqFetch)
	if got := s.askRedis(t, "LLEN queue:default"); got != ":1" || s.count("begin") != 1 {
		t.Fatalf("the quiet sidekiq took the job: %s in the queue\n%s", got, s.lines())
	}

	s.init.Signal(unix.SIGCONT)
	harness.WaitUntil(t, "the second job is done", func() bool { return s.count("done") == 2 })
	s.init.Signal(syscall.SIGTERM)
	s.wantEnd(t, 0, 1)
}

// No Node application handles TSTP unless its author saw to that, and its
// default action would freeze it: for longer than its lock on the job lasts.
func TestQuietDoesNotFreezeBullMQ(t *testing.T) {
	t.Parallel()
	s := bullmqWay.startScene(t, 5*time.Second)
	bullmqWay.begin(t, s)
	harness.WaitUntil(t, "the job begins", func() bool { return s.count("begin") == 1 })
	pid := s.workerPid(t)
	s.init.Signal(unix.SIGTSTP)
	s.init.WaitErr(`quiet has no effect`) // and no process was sent it
	harness.WaitUntil(t, "the job is done", func() bool {
		if harness.StateOf(pid) == 'T' {
			t.Fatal("the worker is frozen")
		}
		if s.askRedis(t, "EXISTS bull:jobs:first:lock") != ":1" && s.count("done") == 0 {
			t.Fatal("the worker has lost its lock on the job")
		}
		return s.count("done") == 1
	})
	s.init.Signal(syscall.SIGTERM)
	s.wantEnd(t, 0, 1)
	if !bullmqWay.kept(t, s) {
		t.Errorf("the job: %s", s.ask(t, "node", s.bullmq(t), "look"))
	}
}

// uwsgi pauses by one TSTP and resumes by the next; CONT tells it nothing.
func TestUwsgiIsQuietedAndResumed(t *testing.T) {
	t.Parallel()
	w := way{programs: []string{"uwsgi"}, prepare: uwsgi}
	w.need(t)
	s := newScene(t, 50*time.Millisecond)
	flags := []string{"-v", harness.LongGrace, "--rewrite", "CONT:TSTP"}
	s.init = harness.Run(t, harness.Launch{Args: harness.Line(flags, w.prepare(t, s)...), Dir: s.dir, Env: s.env})
	request(t, s)
	if !answeredWhole(t, s) {
		t.Fatalf("no answer:\n%s", s.init.Err())
	}

	s.init.Signal(unix.SIGTSTP)
	s.init.WaitErr(`worker 1 suspended`)
	request(t, s)
	select {
	case answer := <-s.answer:
		t.Fatalf("the quiet uwsgi has answered: %s", answer)
	case <-time.After(time.Second):
	}

	s.init.Signal(unix.SIGCONT)
	s.init.WaitErr(`worker 1 resumed`)
	if !answeredWhole(t, s) || s.count("done") != 2 {
		t.Errorf("the second request:\n%s", s.lines())
	}
	s.init.Signal(syscall.SIGTERM)
	s.wantEnd(t, 0, 0) // it can't count its TERM
}

// uwsgi prepares a start of uwsgi with one process, which leaves by TERM and so asks for it.
func uwsgi(t *testing.T, s *scene) []string {
	dir := s.python(t)
	return []string{"uwsgi", "--plugin", "python3", "--master", "--die-on-term",
		"--http-socket", "127.0.0.1:" + strconv.Itoa(s.port), "--wsgi-file", filepath.Join(dir, "gunicorn_app.py")}
}

// script blocks TSTP and never takes it, so no process is quiet by it. When it ends, the kernel
// sends its application HUP, which therefore waits for the last call.
func TestQuietIsNotTakenByScript(t *testing.T) {
	t.Parallel()
	s := scriptWay.startScene(t, time.Second, "--grace", "8s")
	harness.WaitUntil(t, "the job begins", func() bool { return s.count("begin") == 1 })
	s.init.Signal(unix.SIGTSTP)
	s.init.WaitErr(`quiet has no effect`)
	s.init.Signal(syscall.SIGTERM)
	s.wantEnd(t, scriptWay.status, 1)
}

// When celery's master dies, the kernel kills its pool, as celery has asked it
// to: drainit neither tells the children anything nor waits for its grace.
func TestCeleryPoolEndsWithItsMaster(t *testing.T) {
	t.Parallel()
	s := celeryWay.startScene(t, time.Minute)
	queueInCelery(t, s)
	harness.WaitUntil(t, "the job begins", func() bool { return s.count("begin") == 1 })
	harness.Kill(t, s.workerPid(t), syscall.SIGKILL)
	s.wantEnd(t, 137, 0)
	if s.count("done") != 0 {
		t.Errorf("the job ended whole, in a pool that was to die:\n%s", s.lines())
	}
}

// startScene starts the way under drainit and no job yet.
func (w way) startScene(t *testing.T, job time.Duration, flags ...string) *scene {
	t.Helper()
	w.need(t)
	s := newScene(t, job)
	s.init = harness.Run(t, harness.Launch{Args: harness.Line(append([]string{"-v", harness.LongGrace}, flags...), w.prepare(t, s)...), Dir: s.dir, Env: s.env})
	return s
}

// wantEnd waits for drainit's end and checks its status and how often the
// handlers of the stop signal ran.
func (s *scene) wantEnd(t *testing.T, status, signalled int) {
	t.Helper()
	s.init.WantExit(status)
	if got := s.count("signalled"); got != signalled {
		t.Errorf("the handlers ran %d times, want %d\n%s\n%s", got, signalled, s.lines(), s.init.Err())
	}
	s.init.WantNothingLeft()
}

// workerPid is the worker's pid in the test's namespace, by drainit's log.
func (s *scene) workerPid(t *testing.T) int {
	t.Helper()
	started := s.init.WaitErr(`started .*\[(\d+)\]`)
	pid, err := strconv.Atoi(started[1])
	if err != nil {
		t.Fatal(err)
	}
	return s.init.HostPid(pid)
}
