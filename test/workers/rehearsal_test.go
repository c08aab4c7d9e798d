package workers

import (
	"testing"
	"time"

	"drainit/test/harness"
)

// rehearsals are drainit plan with a job in flight: of a queue in Redis, and of the Open Job Spec's backend,
// of which the test answers the two commands.
var rehearsals = []struct {
	name, flags   string
	way           way
	during, check string
	status        int
	says          []string
}{
	{"rq", "", rqWay, enqueueInRq, jobIsDone, 0, []string{`\ndrains: the stop took [1-9]\d*\.\ds\n\z`}},
	{"rq, and a grace period that is too short", "--grace=1s", rqWay, enqueueInRq, jobIsDone, 1,
		[]string{`\nloses work: `, `\n- --check exited with status 1\n`,
			`\n- grace period of 1s over: killing \w+\[\d+\][^\n]*; --grace gives more time\n`}},
	{"a worker without a handler", "",
		way{start: "python3 no-handler.py", uses: "redis-server", prepare: startRedis,
			files: files{"no-handler.py": "import os, redis\n" +
				"from record import job\n" + `queue = redis.Redis.from_url(os.environ["REDIS_URL"])` +
				"\nwhile queue.blpop('jobs'): job()\n"}},
		`redis-cli -u $REDIS_URL rpush jobs 1 && ` + begun, jobIsDone, 1,
		[]string{`\nloses work: `, `\n- python3\[\d+\] has no SIGTERM handler: it died at once`}},
	{"the reference worker", "", ojsWay, `curl -sf $OJS_URL/jobs/hand-over`,
		`curl -sf $OJS_URL/jobs/was-acked`, 0, []string{`\ndrains: `}},
	{"the reference worker, killed", "--grace=300ms", ojsWay, `curl -sf $OJS_URL/jobs/hand-over`,
		`curl -sf $OJS_URL/jobs/was-acked`, 1,
		[]string{`\nloses work: `, `\n- grace period of 300ms over: killing node\[\d+\]`}},
}

const (
	begun       = `until grep -q begin $RECORD; do sleep 0.1; done`
	enqueueInRq = `rq enqueue --url $REDIS_URL rq_jobs.job && ` + begun
	jobIsDone   = `grep -q done $RECORD`
)

var (
	// of a worker that counts what it is sent
	rqWay = way{start: "rq worker --url $REDIS_URL --worker-class rq_jobs.Counted",
		uses: "redis-server", prepare: startRedis}
	ojsWay = way{start: "node ojs-worker.mjs", env: "HEARTBEAT_MS=100", uses: "curl", prepare: startWire}
)

func TestRehearsalWithWork(t *testing.T) {
	for _, tt := range rehearsals {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.way.need(t, false)
			harness.Need(t, "curl", "redis-server")
			s := newScene(t, shortJob)
			command := tt.way.place(t, s)
			args := append([]string{"plan", "--during", tt.during, "--check", tt.check},
				append(harness.Words(tt.flags), append([]string{"--"}, command...)...)...)
			r := harness.RunToEnd(t, harness.Launch{Args: args, Dir: s.dir, Env: s.env})
			for _, pattern := range tt.says {
				if !harness.Matches(pattern, r.Out) {
					t.Errorf("not in it: %s", pattern)
				}
			}
			if r.Status != tt.status {
				t.Errorf("exit status %d, want %d", r.Status, tt.status)
			}
			if t.Failed() {
				t.Logf("stdout:\n%s\nstderr:\n%s\nrecord:\n%s", r.Out, r.Err, s.lines())
			}
		})
	}
}

// atHand answers the commands of a rehearsal: hand-over gives the worker a job that lasts a second, and
// returns when it has begun; was-acked fails unless that was acknowledged.
func (b *backend) atHand(id string) (ok, known bool) {
	switch id {
	case "hand-over":
		b.enqueue("job-1")
		b.await("work job-1", 1)
		time.AfterFunc(time.Second, func() { b.end("job-1") })
		return true, true
	case "was-acked":
		for _, c := range b.made() {
			ok = ok || c.name() == "ack job-1"
		}
		return ok, true
	}
	return false, false
}
