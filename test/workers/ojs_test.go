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
// wire: testdata/ojs-worker.mjs works under drainit, the test is its backend.
// Who provides what, by the specification's ids:
//
//	GS-001, GS-002  both: drainit tells the worker once and lets it drain, the worker quiets, drains, stops
//	GS-003          both: one variable, and drainit adds 4 s
//	GS-004          the worker; drainit does not freeze it and does not end it early
//	GS-005          the worker; drainit leaves it the 4 s for it
//	GS-R001         both: drainit passes TSTP and CONT to who handles them, the worker stops fetching

// ojsWorker is a worker under drainit and its backend. It has job-1 in flight.
type ojsWorker struct {
	*harness.Init
	wire *backend
	pid  int // of the worker itself, as it knows it
}

// ojsWays are ways to start the worker that must look the same on the wire.
var ojsWays = map[string][]string{
	"exec form": {"node", "testdata/ojs-worker.mjs"},
	"sh -c":     {"sh", "-c", "node testdata/ojs-worker.mjs; exit $?"},
}

// startOJS starts the worker and gives it job-1.
func startOJS(t *testing.T, env []string, command ...string) ojsWorker {
	t.Helper()
	harness.Need(t, "node", command[0])
	b := startBackend(t)
	env = append([]string{"OJS_URL=" + b.server.URL, "HEARTBEAT_MS=100"}, env...)
	w := ojsWorker{Init: harness.Run(t, harness.Launch{Env: env, Args: harness.Line([]string{"-v"}, command...)}), wire: b}
	if _, err := fmt.Sscan(w.WaitOut(`^ready (\d+),`)[1], &w.pid); err != nil {
		t.Fatal(err)
	}
	b.enqueue("job-1")
	b.await("work job-1", 1)
	return w
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

// GS-003 and GS-005: one variable gives the worker 2 s and drainit 4 s more. The worker FAILs the
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
			kills := harness.Msgs(t, w.Err(), "grace period of 6s over: killing ")
			if len(kills) != min(tt.status, 1) {
				t.Errorf("%d lines say what is killed", len(kills))
			}
			for _, line := range kills {
				harness.WantTookAtLeast(t, began, 6*time.Second)
				line.WantTimeSince(t, last.at)
			}
		})
	}
}

// GS-R001: the worker stops fetching, its job and its heartbeats go on; CONT takes that back. GS-001,
// GS-002 and GS-004: a stop signal to a quiet worker begins the drain (4.2), in which they go on as well.
func TestOJSQuietAndStop(t *testing.T) {
	t.Parallel()
	for way, command := range ojsWays {
		for _, sig := range []string{"SIGTERM", "SIGINT"} {
			t.Run(way+", "+sig, func(t *testing.T) {
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

				w.Signal(unix.SignalNum(sig))
				w.WaitOut(`^draining: 1 jobs in flight$`)
				w.wire.awaitAfter(w.wire.index("work job-2"), "heartbeat quiet", 1)
				draining := len(w.wire.made())
				w.wire.enqueue("job-3")
				for n := range 3 { // what a drain of any length is made of
					if beat := w.wire.awaitAfter(draining, "heartbeat quiet", n+1); !slices.Equal(beat.ActiveJobs, []string{"job-2"}) {
						t.Errorf("a heartbeat of the drain with the jobs %q", beat.ActiveJobs)
					}
				}
				w.wire.end("job-2")
				w.wire.await("ack job-2", 1)
				w.wantEnd(sig)
				w.wire.wantNone(draining, "fetch")
				w.wire.wantNone(0, "nack")
			})
		}
	}
}
