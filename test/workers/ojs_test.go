package workers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
//	GS-003          both: one variable, and drainit adds 5 s
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
	"exec form": {"node", "testdata/ojs-worker.mjs"},
	"sh -c":     {"sh", "-c", "node testdata/ojs-worker.mjs; exit $?"},
	"bash -c":   {"bash", "-c", "node testdata/ojs-worker.mjs; exit $?"},
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
				wantEnd(t, w.Init)
				w.wire.wantNone(quiet, "fetch")
				w.wire.wantNone(0, "nack")
				w.wire.wantLast("heartbeat terminate")
				w.wantSent(sig)
			})
		}
	}
}

// GS-003, both: the worker's grace is read by drainit too, with 5 s more. With
// none given each has its default, and drainit's leaves no time for a FAIL.
func TestOJSGraceIsReadByBoth(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		env             []string
		drainit, worker string
	}{
		{nil, "30s", "30 s"},
		{[]string{"OJS_SHUTDOWN_GRACE_PERIOD=25s"}, "30s", "25 s"},
		{[]string{"OJS_SHUTDOWN_GRACE_PERIOD=80s"}, "1m25s", "80 s"},
		{[]string{"OJS_SHUTDOWN_GRACE_PERIOD=1m30s"}, "1m35s", "90 s"},
		{[]string{"OJS_SHUTDOWN_GRACE_PERIOD=80s", "DRAINIT_GRACE=90s"}, "1m30s", "80 s"},
	} {
		t.Run(strings.Join(tt.env, " "), func(t *testing.T) {
			t.Parallel()
			w := startOJS(t, tt.env, ojsWays["exec form"]...)
			w.WaitErr(`settings: ` + cmp.Or(map[string]string{"30s": "the defaults"}[tt.drainit], "--grace "+tt.drainit) + `;`)
			w.WaitOut(`^ready \d+, grace ` + tt.worker + `$`)
			w.Signal(syscall.SIGTERM)
			w.WaitErr(`what still runs after ` + tt.drainit + ` is killed`)
			w.wire.end("job-1")
			w.WantExit(0)
		})
	}
}

// GS-005, the worker: it FAILs the job when its own grace is over, and has
// ended before drainit's is.
func TestOJSJobThatOutlivesTheGraceIsFailed(t *testing.T) {
	t.Parallel()
	w := startOJS(t, []string{"OJS_SHUTDOWN_GRACE_PERIOD=2s"}, ojsWays["exec form"]...)
	began := time.Now()
	w.Signal(syscall.SIGTERM)
	w.wantFailed(began)
	w.WantExit(0)
	w.WantNothingLeft()
	w.WantLogged(harness.KillLine, 0)
}

// wantFailed checks how job-1, which outlived a grace of 2 s, was given back.
func (w ojsWorker) wantFailed(began time.Time) {
	w.T.Helper()
	failed := w.wire.await("nack job-1", 1)
	if failed.Error.Type != "ShutdownError" || !failed.Error.Retryable {
		w.T.Errorf("the job failed with %+v", failed.Error)
	}
	// The worker's clock for timers has milliseconds.
	if took := failed.at.Sub(began); took < 2*time.Second-time.Millisecond {
		w.T.Errorf("the job failed %v after the signal, before the grace was over", took)
	}
	last := w.wire.await("heartbeat terminate", 1)
	if len(last.ActiveJobs) > 0 {
		w.T.Errorf("the last heartbeat still has the jobs %q", last.ActiveJobs)
	}
	w.wire.wantLast("heartbeat terminate")
	w.wire.wantNone(0, "ack")
	w.wantSent("SIGTERM")
}

// GS-005 where it matters: this worker would stay for ever, so that the SIGKILL
// comes, and finds that all has been said.
func TestOJSFailAndLastHeartbeatComeBeforeTheKill(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"exec form", "sh -c"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w := startOJS(t, []string{"OJS_SHUTDOWN_GRACE_PERIOD=2s", "STAY=1"}, ojsWays[way]...)
			began := time.Now()
			w.Signal(syscall.SIGTERM)
			w.WantExit(137)
			wantNotBefore(t, began, 7*time.Second)
			w.wantFailed(began)
			last := w.wire.await("heartbeat terminate", 1).at
			for _, l := range harness.JsonLines(t, w.Err()) {
				if strings.HasPrefix(l["msg"].(string), "grace period of 7s over: killing ") {
					l.WantTimeSince(t, last)
				}
			}
			w.WantLogged(`grace period of 7s over: killing `, 1)
			w.WantNothingLeft()
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
			var ignored call
			w.wire.awaitAfter(resumed, "heartbeat running", 1, &ignored)
			w.wire.await("work job-2", 1)

			w.Signal(unix.SIGTSTP)
			var again call
			w.wire.awaitAfter(w.wire.index("work job-2"), "heartbeat quiet", 1, &again)
			w.Signal(syscall.SIGTERM)
			w.WaitOut(`^draining: 1 jobs in flight$`)
			w.wire.end("job-2")
			w.wire.await("ack job-2", 1)
			wantEnd(t, w.Init)
			w.wire.wantNone(0, "nack")
			w.wire.wantLast("heartbeat terminate")
			w.wantSent("SIGTERM")
		})
	}
}

// GS-R002, drainit: nothing is said of the job any more, so that the backend
// gives it to another when the worker's heartbeats are missing (7.1).
func TestOJSSecondStopSignalForceStops(t *testing.T) {
	t.Parallel()
	for _, second := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(second.String(), func(t *testing.T) {
			t.Parallel()
			w := startOJS(t, nil, ojsWays["exec form"]...)
			w.Signal(syscall.SIGTERM)
			w.wire.await("heartbeat quiet", 1)
			harness.PastTheSameRequest()
			w.Signal(second)
			w.WantExit(137)
			w.WantLogged(`second stop signal, force-stop: killing `, 1)
			w.wantSent("SIGTERM")
			w.wire.wantNone(0, "ack")
			w.wire.wantNone(0, "nack")
			w.WantNothingLeft()
		})
	}
}

// GS-R003, both: each 5 s a line of the worker's has the number of its jobs, and
// one of drainit's the number of processes and the time that is left.
func TestOJSDrainIsLoggedWithACount(t *testing.T) {
	t.Parallel()
	w := startOJS(t, nil, ojsWays["exec form"]...)
	w.Signal(syscall.SIGTERM)
	w.WaitOut(`^draining: 1 jobs in flight\ndraining: 1 jobs in flight\n`)
	w.WaitErr(fmt.Sprintf(`"msg":"draining, 1 process left \([^"]+\[%d\]\), SIGKILL in \d`, w.pid))
	w.wire.end("job-1")
	w.WantExit(0)
	w.wantSent("SIGTERM")
}

// ojsPod starts the protocol's worker under drainit as Kubernetes would: a
// read-only root, a user that is not root. So many jobs are in flight.
func ojsPod(t *testing.T, jobs int, env ...string) (harness.RuncContainer, ojsWorker) {
	t.Helper()
	binds := harness.Host(t, "node")
	binds["/ojs-worker.mjs"] = harness.Testdata(t, "ojs-worker.mjs")
	b := startBackend(t)
	c := harness.StartRunc(t, harness.Bundle{
		Args:  []string{"/drainit", "-v", "--", "/node", "/ojs-worker.mjs"},
		Env:   append([]string{"OJS_URL=" + b.server.URL, "HEARTBEAT_MS=50"}, env...),
		Binds: binds,
	})
	w := ojsWorker{Init: c.Init, wire: b}
	if _, err := fmt.Sscan(c.WaitOut(`^ready (\d+),`)[1], &w.pid); err != nil {
		t.Fatal(err)
	}
	for n := range jobs {
		b.enqueue(fmt.Sprintf("job-%d", n+1))
	}
	for n := range jobs {
		b.await(fmt.Sprintf("work job-%d", n+1), 1)
	}
	return c, w
}

// endJobs lets jobs end and waits until the backend has heard of it.
func (w ojsWorker) endJobs(numbers ...int) {
	w.T.Helper()
	for _, n := range numbers {
		w.wire.end(fmt.Sprintf("job-%d", n))
	}
	for _, n := range numbers {
		w.wire.await(fmt.Sprintf("ack job-%d", n), 1)
	}
}

// wantBeat waits for a heartbeat of a quiet worker that has these jobs.
func (w ojsWorker) wantBeat(numbers ...int) {
	w.T.Helper()
	var jobs []string
	for _, n := range numbers {
		jobs = append(jobs, fmt.Sprintf("job-%d", n))
	}
	harness.WaitUntil(w.T, fmt.Sprintf("a heartbeat with the jobs %q", jobs), func() bool {
		return slices.ContainsFunc(w.wire.made(), func(c call) bool {
			slices.Sort(c.ActiveJobs)
			return c.name() == "heartbeat quiet" && slices.Equal(c.ActiveJobs, jobs)
		})
	})
}

// The timeline of the specification's section 12.3, a tenth as long, behind the
// preStop hook of its section 8.1 that the verb takes the place of: quiet with
// seven jobs, two of them end meanwhile; TERM, and the others end by and by.
func TestPreStopAndTermGiveTheTimelineOfTheSpecification(t *testing.T) {
	t.Parallel()
	c, w := ojsPod(t, 7, "OJS_SHUTDOWN_GRACE_PERIOD=8s")
	c.WantProbes("run", 0, 0)
	began := time.Now()
	hook := c.Exec("/drainit", "quiet", "--sleep", "500ms")
	w.wantBeat(1, 2, 3, 4, 5, 6, 7)
	quiet := w.wire.index("heartbeat quiet")
	w.wire.enqueue("job-8")
	c.WantProbes("quiet", 1, 0)
	w.endJobs(1, 2)
	hook.WantExit(0)
	wantNotBefore(t, began, 500*time.Millisecond)
	w.wantBeat(3, 4, 5, 6, 7)

	c.Kill("TERM")
	c.WaitOut(`^draining: 5 jobs in flight$`)
	c.WantProbes("drain", 1, 0)
	w.endJobs(3, 4)
	w.wantBeat(5, 6, 7)
	w.endJobs(5, 6)
	w.wantBeat(7)
	w.endJobs(7)
	wantEnd(t, c.Init)
	w.wire.wantLast("heartbeat terminate")
	w.wire.wantNone(quiet, "fetch")
	w.wire.wantNone(0, "nack")
	w.wantSent("SIGTERM")
	w.WantLogged(harness.KillLine, 0)
}

// The choice of the grace by the specification's section 6.2: the longest job,
// and a heartbeat, and a margin. The log says when it was too short, and so does
// the termination message, which Kubernetes shows.
func TestLogAndTerminationMessageTellAGraceThatWasTooShort(t *testing.T) {
	t.Parallel()
	const longestJob, heartbeat, margin = 800 * time.Millisecond, 100 * time.Millisecond, 5 * time.Second
	for _, tt := range []struct {
		name, grace string
		status      int
		log         string
		message     string
	}{
		{"too short", "400ms", 137, `grace period of 400ms over: killing worker\[\d+\] `, `^stopped after [\d.m]+s: killed worker\[\d+\] \(grace period of 400ms over\); exit status 137\n?$`},
		{"by the formula", (longestJob + heartbeat + margin).String(), 0, `stopped after [\d.m]+s: worker\[\d+\] exited with status 0`, `^$`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			message := harness.TerminationLog(t)
			c := harness.StartRunc(t, harness.Bundle{
				Args:     []string{"/drainit", "--grace", tt.grace, "--", "/worker", "listen", "-drain", longestJob.String()},
				Writable: map[string]string{"/dev/termination-log": message},
			})
			c.WaitOut(`^ready`)
			c.Kill("TERM")
			c.WaitErr(`what still runs after ` + strings.TrimSuffix(tt.grace, "0ms"))
			c.WantExit(tt.status)
			c.WantLogged(tt.log, 1)
			c.WantLogged(`over: kill`, min(tt.status, 1))
			harness.WantMessage(t, message, tt.message)
		})
	}
}
