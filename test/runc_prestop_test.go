package test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// ojsPod starts the protocol's worker under drainit as Kubernetes would: a
// read-only root, a user that is not root. So many jobs are in flight.
func ojsPod(t *testing.T, jobs int, env ...string) (runcContainer, ojsWorker) {
	t.Helper()
	script, err := filepath.Abs("testdata/ojs-worker.mjs")
	if err != nil {
		t.Fatal(err)
	}
	binds := host(t, "node")
	binds["/ojs-worker.mjs"] = script
	b := startBackend(t)
	c := startRunc(t, Bundle{
		Args:  []string{"/drainit", "-v", "--", "/node", "/ojs-worker.mjs"},
		Env:   append([]string{"OJS_URL=" + b.server.URL, "HEARTBEAT_MS=50"}, env...),
		Binds: binds,
	})
	w := ojsWorker{Init: c.Init, wire: b}
	if _, err := fmt.Sscan(c.waitOut(`^ready (\d+),`)[1], &w.pid); err != nil {
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
func (w ojsWorker) endJobs(numbers ...int) (heard time.Time) {
	w.t.Helper()
	for _, n := range numbers {
		w.wire.end(fmt.Sprintf("job-%d", n))
	}
	for _, n := range numbers {
		heard = w.wire.await(fmt.Sprintf("ack job-%d", n), 1).at
	}
	return heard
}

// wantBeat waits for a heartbeat of a quiet worker that has these jobs.
func (w ojsWorker) wantBeat(numbers ...int) {
	w.t.Helper()
	var jobs []string
	for _, n := range numbers {
		jobs = append(jobs, fmt.Sprintf("job-%d", n))
	}
	waitUntil(w.t, fmt.Sprintf("a heartbeat with the jobs %q", jobs), func() bool {
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
	c.wantProbes("run", 0, 0)
	began := time.Now()
	hook := c.exec("/drainit", "quiet", "--sleep", "500ms")
	w.wantBeat(1, 2, 3, 4, 5, 6, 7)
	quiet := w.wire.index("heartbeat quiet")
	w.wire.enqueue("job-8")
	c.wantProbes("quiet", 1, 0)
	w.endJobs(1, 2)
	hook.wantExit(0)
	wantTook(t, began, 500*time.Millisecond, patience)
	w.wantBeat(3, 4, 5, 6, 7)

	c.kill("TERM")
	c.waitOut(`^draining: 5 jobs in flight$`)
	c.wantProbes("drain", 1, 0)
	w.endJobs(3, 4)
	w.wantBeat(5, 6, 7)
	w.endJobs(5, 6)
	w.wantBeat(7)
	wantEndSince(t, c.Init, w.endJobs(7))
	w.wire.wantLast("heartbeat terminate")
	w.wire.wantNone(quiet, "fetch")
	w.wire.wantNone(0, "nack")
	w.wantSent("SIGTERM")
	w.wantLogged(killLine, 0)
}

// wantProbes checks the title of PID 1, and with which status an exec probe for
// readiness and one for liveness end.
func (c runcContainer) wantProbes(phase string, ready, alive int) {
	c.t.Helper()
	waitUntil(c.t, "the phase "+phase, func() bool { return comm(c.hostPid(1)) == "drainit:"+phase })
	readiness, liveness := c.exec("/drainit", "status", "--ready"), c.exec("/drainit", "status") // at once
	readiness.wantExit(ready)
	liveness.wantExit(alive)
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
		{"too short", "400ms", 137, `grace period of 400ms over: killing worker\[\d+\] `, `^grace period of 400ms over: killed worker\[\d+\] \d+\.\ds after SIGTERM\n?$`},
		{"by the formula", (longestJob + heartbeat + margin).String(), 0, `stopped after \d+\.\ds: worker\[\d+\] exited with status 0`, `^$`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			message := terminationLog(t)
			c := startRunc(t, Bundle{
				Args:     []string{"/drainit", "--grace", tt.grace, "--", "/worker", "listen", "-drain", longestJob.String()},
				Writable: map[string]string{"/dev/termination-log": message},
			})
			c.waitOut(`^ready`)
			c.kill("TERM")
			c.waitErr(`what still runs after ` + strings.TrimSuffix(tt.grace, "0ms"))
			c.wantExit(tt.status)
			c.wantLogged(tt.log, 1)
			c.wantLogged(`over: kill`, min(tt.status, 1))
			wantMessage(t, message, tt.message)
		})
	}
}
