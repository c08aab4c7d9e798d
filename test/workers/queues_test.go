package workers

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"drainit/test/harness"
)

// queueWays are the starts of workers that take their jobs from a queue, which
// is a Redis of the scene's own.
var queueWays = []way{rqWay, throughShell(rqWay), ownRedisWay, celeryWay, sidekiqWay, bullmqWay}

// rqWay has a process of its own for each job. It leaves when a thread that
// looks up each 0.2 s has seen that it is to.
var rqWay = way{
	name:     "`rq worker`",
	programs: []string{"rq", "redis-server"},
	leaves:   500 * time.Millisecond,
	prepare: func(t *testing.T, s *scene) []string {
		s.python(t)
		startRedis(t, s)
		return rqWorker(s)
	},
	begin: queueInRq,
}

// rqWorker is the command line of a worker that counts what it is sent.
func rqWorker(s *scene) []string {
	return []string{"rq", "worker", "--url", s.redisURL(), "--worker-class", "rq_jobs.Counted"}
}

func queueInRq(t *testing.T, s *scene) {
	harness.WaitUntil(t, "the queue answers", func() bool { return dialable(s.redis) == nil || !s.init.Running() })
	s.ask(t, "rq", "enqueue", "--url", s.redisURL(), "rq_jobs.job")
}

// ownRedisWay has its Redis inside, a daemon that its entrypoint starts. The
// worker still needs it when its job is done.
var ownRedisWay = way{
	name:     "entrypoint: `redis-server --daemonize yes; exec rq worker`",
	programs: []string{"rq", "redis-server"},
	leaves:   rqWay.leaves,
	tells:    2, // the worker, and Redis
	prepare: func(t *testing.T, s *scene) []string {
		s.python(t)
		s.redis = "127.0.0.1:" + strconv.Itoa(s.port)
		s.notes = filepath.Join(s.dir, "redis.log")
		s.write(t, "entrypoint.sh", "#!/bin/sh\n"+
			"redis-server --daemonize yes --port $PORT --bind 127.0.0.1 --save '' --logfile redis.log\n"+
			"exec "+strings.Join(rqWorker(s), " ")+"\n")
		return []string{"sh", "entrypoint.sh"}
	},
	begin: queueInRq,
	kept:  redisOutlivedTheJob,
}

// redisOutlivedTheJob reports whether Redis was signalled at most once, and not
// before the job was done.
func redisOutlivedTheJob(t *testing.T, s *scene) bool {
	t.Helper()
	log, err := os.ReadFile(s.notes)
	if err != nil {
		t.Fatal(err)
	}
	// "4:M 21 Nov 2026 13:30:02.352 # User requested shutdown..."
	before, _, signalled := strings.Cut(string(log), " # User requested shutdown")
	if !signalled {
		return true
	}
	_, at, _ := strings.Cut(before[strings.LastIndexByte(before, '\n')+1:], " ")
	stopped, err := time.ParseInLocation("02 Jan 2006 15:04:05.000", at, time.Local)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(log), "Received SIGTERM") == 1 && !stopped.Before(s.last("done"))
}

// celeryWay has a pool of children, which its master ends. Each of them sleeps
// for a second when it leaves.
var celeryWay = way{
	name:     "`celery worker`, prefork",
	programs: []string{"celery", "redis-server"},
	tells:    1,
	leaves:   3 * time.Second,
	prepare: func(t *testing.T, s *scene) []string {
		s.python(t)
		startRedis(t, s)
		return []string{"celery", "-A", "celery_app", "worker", "--pool", "prefork", "--concurrency", "2"}
	},
	begin: queueInCelery,
}

func queueInCelery(t *testing.T, s *scene) { s.ask(t, "celery", "-A", "celery_app", "call", "job") }

// sidekiqWay looks each 0.5 s whether its jobs are done.
var sidekiqWay = way{
	name:     "`sidekiq`",
	programs: []string{"sidekiq", "redis-server"},
	leaves:   500 * time.Millisecond,
	prepare: func(t *testing.T, s *scene) []string {
		startRedis(t, s)
		return []string{"sidekiq", "-c", "1", "-r", testdata(t, "sidekiq.rb")}
	},
	begin: queueInSidekiq,
}

func queueInSidekiq(t *testing.T, s *scene) {
	s.ask(t, "ruby", "-r", testdata(t, "sidekiq.rb"), "-e", "Job.perform_async")
}

// bullmqWay loses its job to another worker where it does not renew its lock.
var bullmqWay = way{
	name:     "BullMQ worker",
	programs: []string{"redis-server"},
	npm:      true,
	prepare: func(t *testing.T, s *scene) []string {
		startRedis(t, s)
		return []string{"node", s.bullmq(t)}
	},
	begin: func(t *testing.T, s *scene) { s.ask(t, "node", s.bullmq(t), "add") },
	kept: func(t *testing.T, s *scene) bool {
		return s.ask(t, "node", s.bullmq(t), "look") == "completed, started 1, stalled 0"
	},
}

// bullmq is the worker's source, copied to where Node finds its packages.
func (s *scene) bullmq(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile(testdata(t, "bullmq.js"))
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "bullmq.js", string(source))
	return filepath.Join(s.dir, "bullmq.js")
}

// startRedis starts a Redis that is not below the init and waits until it
// answers. It ends with the test.
func startRedis(t *testing.T, s *scene) {
	t.Helper()
	harness.Need(t, "redis-server")
	port := harness.ReservePort(t)
	s.redis = "127.0.0.1:" + strconv.Itoa(port)
	s.env = append(s.env, "REDIS_URL="+s.redisURL())
	harness.StartBeside(t, "redis-server", "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--dir", s.dir)
	harness.WaitUntil(t, "redis listens", func() bool { return dialable(s.redis) == nil })
}

func (s *scene) redisURL() string { return "redis://" + s.redis + "/0" }

// askRedis sends a command to the scene's Redis and returns the first line of
// its answer, by the protocol's inline form.
func (s *scene) askRedis(t *testing.T, command string) string {
	t.Helper()
	conn, err := net.DialTimeout("tcp", s.redis, harness.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s\r\n", command)
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(answer)
}

// ask runs a client of the worker's to its end and returns what it printed.
func (s *scene) ask(t *testing.T, program string, args ...string) string {
	t.Helper()
	client := exec.CommandContext(t.Context(), program, args...)
	client.Dir = s.dir
	client.Env = append(os.Environ(), s.env...)
	var stderr strings.Builder
	client.Stderr = &stderr
	out, err := client.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(client.Args, " "), err, out, stderr.String())
	}
	return strings.TrimSpace(string(out))
}
