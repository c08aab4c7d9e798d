package workers

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// These tests show the graceful shutdown of the Open Job Spec 1.0.0-rc.1 on the
// wire: testdata/matrix/ojs-worker.mjs works under drainit, the test is its backend.
// Who provides what, by the specification's ids:
//
//	GS-001, GS-002  both: drainit tells the worker once and lets it drain, the worker quiets, drains, stops
//	GS-003          both: one variable, and drainit adds 5 s; its default is tested in test/cli
//	GS-004          the worker; drainit does not freeze it and does not end it early
//	GS-005          the worker; drainit leaves it the 5 s for it
//	GS-R001         both: drainit passes TSTP and CONT to who handles them, the worker stops fetching
//	GS-R002         drainit: the worker does not see the second signal
//	GS-R003         both: drainit counts processes, the worker its jobs

// ojsWorker is a worker under drainit and its backend. It has job-1 in flight.
type ojsWorker struct {
	*harness.Init
	wire *backend
	pid  int // of the worker itself, as it knows it
}

// ojsWays are ways to start the worker that must look the same on the wire.
var ojsWays = map[string][]string{
	"exec form": {"node", "testdata/matrix/ojs-worker.mjs"},
	"sh -c":     {"sh", "-c", "node testdata/matrix/ojs-worker.mjs; exit $?"},
	"bash -c":   {"bash", "-c", "node testdata/matrix/ojs-worker.mjs; exit $?"},
}

// startOJS starts the worker and gives it job-1.
func startOJS(t *testing.T, env []string, command ...string) ojsWorker {
	t.Helper()
	harness.Need(t, "node", command[0])
	b := startBackend(t)
	env = append([]string{"OJS_URL=" + b.server.URL, "HEARTBEAT_MS=100"}, env...)
	w := ojsWorker{Init: harness.Run(t, harness.Launch{Env: env, Args: harness.Line([]string{"-v"}, command...)}), wire: b}
	w.awaitReady()
	b.enqueue("job-1")
	b.await("work job-1", 1)
	return w
}

// awaitReady waits until the worker says its pid.
func (w *ojsWorker) awaitReady() {
	w.T.Helper()
	if _, err := fmt.Sscan(w.WaitOut(`^ready (\d+),`)[1], &w.pid); err != nil {
		w.T.Fatal(err)
	}
}

// wantEnd checks that drainit left with 0, without a kill, and nothing with it, and that the
// worker had said so and got one signal.
func (w ojsWorker) wantEnd(sig string) {
	w.T.Helper()
	w.WantExit(0)
	w.WantNothingLeft()
	w.WantLogged(harness.KillLine, 0)
	w.wire.wantLast("heartbeat terminate")
	w.wantSent(sig)
}

// wantSent checks that the worker got one stop signal in all, and from drainit.
func (w ojsWorker) wantSent(sig string) {
	w.T.Helper()
	var stops []string
	for _, got := range harness.Gots(w.Out()) {
		if got == "got SIGTERM" || got == "got SIGINT" {
			stops = append(stops, got)
		}
	}
	if !slices.Equal(stops, []string{"got " + sig}) {
		w.T.Errorf("the worker %q, want %s once\nstderr:\n%s", stops, sig, w.Err())
	}
	w.WantLogged(fmt.Sprintf(`sent %s to [^"]+\[%d\]: `, sig, w.pid), 1)
	w.WantLogged(fmt.Sprintf(`sent SIG(TERM|INT) to [^"]+\[%d\]: `, w.pid), 1)
}

// GS-001 and GS-002, both; GS-004, the worker.
func TestOJSStopSignalQuietsDrainsAndStops(t *testing.T) {
	t.Parallel()
	for way, command := range ojsWays {
		for _, sig := range []string{"SIGTERM", "SIGINT"} {
			t.Run(way+", "+sig, func(t *testing.T) {
				t.Parallel()
				w := startOJS(t, nil, command...)
				w.Signal(unix.SignalNum(sig))
				w.wire.await("heartbeat quiet", 1)
				quiet := w.wire.index("heartbeat quiet")
				w.wire.enqueue("job-2")
				for n := range 3 { // what a drain of any length is made of
					if beat := w.wire.await("heartbeat quiet", n+2); !slices.Equal(beat.ActiveJobs, []string{"job-1"}) {
						t.Errorf("a heartbeat of the drain with the jobs %q", beat.ActiveJobs)
					}
				}
				w.wire.end("job-1")
				w.wire.await("ack job-1", 1)
				w.wantEnd(sig)
				w.wire.wantNone(quiet, "fetch")
				w.wire.wantNone(0, "nack")
			})
		}
	}
}

// GS-003 and GS-005: one variable gives the worker 2 s and drainit 5 s more. The worker FAILs the
// job when its own grace is over, and has ended before drainit's is. One that would stay for ever
// is killed then, and all has been said.
func TestOJSJobThatOutlivesTheGraceIsFailed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		way, env string
		status   int
	}{{"exec form", "STAY=", 0}, {"sh -c", "STAY=1", 137}} {
		t.Run(tt.way+", "+tt.env, func(t *testing.T) {
			t.Parallel()
			w := startOJS(t, []string{"OJS_SHUTDOWN_GRACE_PERIOD=2s", tt.env}, ojsWays[tt.way]...)
			began := time.Now()
			w.Signal(syscall.SIGTERM)
			w.WantExit(tt.status)
			w.WantNothingLeft()
			failed := w.wire.await("nack job-1", 1)
			if failed.Error.Type != "ShutdownError" || !failed.Error.Retryable {
				t.Errorf("the job failed with %+v", failed.Error)
			}
			// The worker's clock for timers has milliseconds.
			if took := failed.at.Sub(began); took < 2*time.Second-time.Millisecond {
				t.Errorf("the job failed %v after the signal, before the grace was over", took)
			}
			last := w.wire.await("heartbeat terminate", 1)
			if len(last.ActiveJobs) > 0 {
				t.Errorf("the last heartbeat still has the jobs %q", last.ActiveJobs)
			}
			w.wire.wantLast("heartbeat terminate")
			w.wire.wantNone(0, "ack")
			w.wantSent("SIGTERM")
			kills := harness.Msgs(t, w.Err(), "grace period of 7s over: killing ")
			if len(kills) != min(tt.status, 1) {
				t.Errorf("%d lines say what is killed", len(kills))
			}
			for _, line := range kills {
				harness.WantTookAtLeast(t, began, 7*time.Second)
				line.WantTimeSince(t, last.at)
			}
		})
	}
}

// GS-R001, both: the worker stops fetching, its job and its heartbeats go on;
// CONT takes that back. A TERM to a quiet worker begins the drain (4.2).
func TestOJSTSTPStopsTheFetching(t *testing.T) {
	t.Parallel()
	for way, command := range ojsWays {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w := startOJS(t, nil, command...)
			w.Signal(unix.SIGTSTP)
			w.wire.await("heartbeat quiet", 1)
			quiet := w.wire.index("heartbeat quiet")
			w.wire.enqueue("job-2")
			w.wire.end("job-1")
			w.wire.await("ack job-1", 1)
			w.wire.await("heartbeat quiet", 5)
			w.wire.wantNone(quiet, "fetch")
			w.WantNotStopped()

			resumed := len(w.wire.made())
			w.Signal(unix.SIGCONT)
			w.wire.awaitAfter(resumed, "heartbeat running", 1)
			w.wire.await("work job-2", 1)

			w.Signal(unix.SIGTSTP)
			w.wire.awaitAfter(w.wire.index("work job-2"), "heartbeat quiet", 1)
			w.Signal(syscall.SIGTERM)
			w.WaitOut(`^draining: 1 jobs in flight$`)
			w.wire.end("job-2")
			w.wire.await("ack job-2", 1)
			w.wantEnd("SIGTERM")
			w.wire.wantNone(0, "nack")
		})
	}
}

// GS-R002, drainit: nothing is said of the job any more, so that the backend
// gives it to another when the worker's heartbeats are missing (7.1).
func TestOJSSecondStopSignalForceStops(t *testing.T) {
	t.Parallel()
	w := startOJS(t, nil, ojsWays["exec form"]...)
	w.Signal(syscall.SIGTERM)
	w.wire.await("heartbeat quiet", 1)
	harness.PastTheSameRequest()
	w.Signal(syscall.SIGINT)
	w.WantExit(137)
	w.WantLogged(`second stop signal, force-stop: killing `, 1)
	w.wantSent("SIGTERM")
	w.wire.wantNone(0, "ack")
	w.wire.wantNone(0, "nack")
	w.WantNothingLeft()
}

// GS-R003, both: each 5 s a line of the worker's has the number of its jobs, and
// one of drainit's the number of processes and the time that is left.
func TestOJSDrainIsLoggedWithACount(t *testing.T) {
	t.Parallel()
	w := startOJS(t, nil, ojsWays["exec form"]...)
	began := time.Now()
	w.Signal(syscall.SIGTERM)
	w.WaitOut(`^draining: 1 jobs in flight\ndraining: 1 jobs in flight\n`)
	w.WaitErr(fmt.Sprintf(`"msg":"draining, 1 process left \([^"]+\[%d\]\), SIGKILL in \d`, w.pid))
	w.wire.end("job-1")
	w.WantExit(0)
	w.wantSent("SIGTERM")
	line := harness.Msgs(t, w.Err(), "draining, 1 process left")[0]
	line.WantTimeSince(t, began.Add(4*time.Second)) // a look that took long puts it off
	line.WantFields(t, "phase=draining left_s=")
}

// wantBeat waits for a heartbeat of a quiet worker that has these jobs.
func (w ojsWorker) wantBeat(jobs ...string) {
	w.T.Helper()
	harness.WaitUntil(w.T, fmt.Sprintf("a heartbeat with the jobs %q", jobs), func() bool {
		return slices.ContainsFunc(w.wire.made(), func(c call) bool {
			slices.Sort(c.ActiveJobs)
			return c.name() == "heartbeat quiet" && slices.Equal(c.ActiveJobs, jobs)
		})
	})
}

// The timeline of the specification's section 12.3, a tenth as long, after the preStop hook of
// its section 8.1 that the verb takes the place of: quiet with five jobs, one of which ends
// meanwhile; TERM, and the others end by and by. It is as in Kubernetes: a read-only root, and a
// user that is not root.
func TestPreStopAndTermGiveTheTimelineOfTheSpecification(t *testing.T) {
	t.Parallel()
	binds := harness.Host(t, "node")
	binds["/ojs-worker.mjs"] = testdata(t, "ojs-worker.mjs")
	b := startBackend(t)
	c := harness.StartRunc(t, harness.Bundle{
		Args:  []string{"/drainit", "-v", "--", "/node", "/ojs-worker.mjs"},
		Env:   []string{"OJS_URL=" + b.server.URL, "HEARTBEAT_MS=50", "OJS_SHUTDOWN_GRACE_PERIOD=8s"},
		Binds: binds,
	})
	w := ojsWorker{Init: c.Init, wire: b}
	w.awaitReady()
	jobs := []string{"job-1", "job-2", "job-3", "job-4", "job-5"}
	for _, job := range jobs {
		b.enqueue(job)
	}
	for _, job := range jobs {
		b.await("work "+job, 1)
	}
	endOne := func() {
		b.end(jobs[0])
		b.await("ack "+jobs[0], 1)
		jobs = jobs[1:]
	}
	c.WantProbes("run", 0, 0)
	began := time.Now()
	hook := c.Exec("/drainit", "quiet", "--sleep", "500ms")
	w.wantBeat(jobs...)
	quiet := b.index("heartbeat quiet")
	b.enqueue("job-6")
	c.WantProbes("quiet", 1, 0)
	endOne()
	hook.WantExit(0)
	harness.WantTookAtLeast(t, began, 500*time.Millisecond)
	w.wantBeat(jobs...)

	c.Kill("TERM")
	c.WaitOut(`^draining: 4 jobs in flight$`)
	c.WantProbes("drain", 1, 0)
	for len(jobs) > 1 {
		endOne()
		w.wantBeat(jobs...)
	}
	endOne()
	w.wantEnd("SIGTERM")
	b.wantNone(quiet, "fetch")
	b.wantNone(0, "nack")
}
