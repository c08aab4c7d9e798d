package workers

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"drainit/test/harness"
)

// noneSignalled reports whether no handler ran.
func noneSignalled(_ *testing.T, s *scene) bool { return s.count("signalled") == 0 }

// supervisord is a configuration of these programs, for which it waits as long as it takes. It
// stops the last one first, and the one before when that has gone.
func supervisord(setting string, commands ...string) files {
	conf := "[supervisord]\nnodaemon=true\nlogfile=/dev/null\nlogfile_maxbytes=0\n"
	for i, command := range commands {
		conf += "[program:app" + string(rune('0'+i)) + "]\ncommand=" + command + "\nstopwaitsecs=60\n" +
			setting + "\n"
	}
	return files{"supervisord.conf": conf}
}

// runitServices are two services of runit's, one of them behind a shell.
var runitServices = files{
	"services/direct/run": "#!/bin/sh\ncd ../..\nexec node app.js\n",
	"services/behind/run": "#!/bin/sh\ncd ../..\nnode app.js\nexit $?\n",
}

// lerna is a package below another, with one more setting of lerna's.
func lerna(setting string) files {
	return files{
		"package.json": `{"name": "root", "private": true, "workspaces": ["packages/*"]}`,
		"lerna.json":   `{"version": "1.0.0", "packages": ["packages/*"]` + setting + `}`,
		"nx.json":      `{"analytics": false}`,
		"packages/app/package.json": `{"name": "app", "version": "1.0.0", ` +
			`"scripts": {"start": "node ../../app.js"}}`,
	}
}

// daemonLast reports whether the daemon was signalled when the applications had done their jobs.
func daemonLast(_ *testing.T, s *scene) bool { return !s.last("signalled").Before(s.last("done")) }

// hiddenBash is a copy of bash whose files and system calls another user may not read.
func hiddenBash(t *testing.T, s *scene) { s.copyOf(t, "bash", "bash", 0o711) }

func (s *scene) copyOf(t *testing.T, program, name string, mode os.FileMode) {
	t.Helper()
	b, err := os.ReadFile(harness.PathOf(t, program))
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, name), b, mode)
	}
	harness.Must(t, err)
}

// gives reports whether a command prints all that the application wrote, and nothing else: what read its
// lines has them all.
func gives(command string) func(t *testing.T, s *scene) bool {
	return func(_ *testing.T, s *scene) bool {
		cmd := exec.Command("sh", "-c", "[ -s written ] && "+command+" | cmp - written")
		cmd.Dir = s.dir
		return cmd.Run() == nil
	}
}

// java compiles a program of testdata/matrix; its start is $JAVA.
func java(program string) func(t *testing.T, s *scene) {
	return func(t *testing.T, s *scene) {
		s.vars = append(s.vars, "$JAVA",
			strings.Join(harness.Java(t, harness.Repo("test/workers/testdata/matrix", program+".java")), " "))
	}
}

// goCaches are those of the test: the worker's home is another.
func goCaches(t *testing.T, s *scene) {
	home, _ := os.UserHomeDir() // both fail without HOME, where go has needed the variables
	cache, _ := os.UserCacheDir()
	s.env = append(s.env, "GOPROXY=off", "GOTOOLCHAIN=local",
		"GOCACHE="+cmp.Or(os.Getenv("GOCACHE"), filepath.Join(cache, "go-build")),
		"GOPATH="+cmp.Or(os.Getenv("GOPATH"), filepath.Join(home, "go")))
}

// prefer lets a way's processes go before others: tsx kills an application that has not answered its signal
// within 60 ms, as happens on a busy machine.
func prefer(t *testing.T, s *scene) {
	t.Helper()
	harness.WaitUntil(t, "the job begins", func() bool { return s.count("begin") > 0 || !s.init.Running() })
	s.init.Prefer()
}

// stopThreads stops the worker when its job has begun.
func stopThreads(t *testing.T, s *scene) {
	t.Helper()
	harness.WaitUntil(t, "the job begins", func() bool { return s.count("begin") == 1 })
	worker := s.init.FirstChild()
	harness.WaitUntil(t, "the main thread has ended", func() bool { return harness.StateOf(worker) == 'Z' })
	harness.Kill(t, worker, syscall.SIGSTOP)
}

// queueWays are the starts of workers that take their jobs from a queue, which
// is a Redis of the scene's own.
var queueWays = []way{
	// It has a process of its own for each job. It leaves when a thread that looks up each 0.2 s has
	// seen that it is to.
	{name: "`rq worker`", start: rq, uses: "redis-server", leaves: 500 * time.Millisecond,
		prepare: startRedis, begin: queueInRq},
	{name: "`sh -c 'rq worker'`", start: "sh -c '" + rq + "'", uses: "redis-server",
		leaves: 500 * time.Millisecond, prepare: startRedis, begin: queueInRq},
	// It has its Redis inside, a daemon that its entrypoint starts. The worker still needs it when
	// its job is done. drainit signals both.
	{name: "entrypoint: `redis-server --daemonize yes; exec rq worker`",
		leaves: 500 * time.Millisecond, tells: 2,
		start: "sh entrypoint.sh", uses: "rq redis-server", prepare: redisInside, begin: queueInRq,
		kept: redisOutlivedTheJob,
		files: files{
			"entrypoint.sh": "#!/bin/sh\nredis-server --daemonize yes --port $PORT --bind 127.0.0.1 --save " +
				"'' --logfile redis.log\nexec " + rq + "\n"}},
	// It has a pool of children, which its master ends. Each of them sleeps for a second when it leaves.
	{name: "`celery worker`, prefork", start: "celery -A celery_app worker --pool prefork --concurrency 2",
		uses:  "redis-server",
		tells: 1, leaves: 3 * time.Second, prepare: startRedis,
		begin: clients("celery -A celery_app call job")},
	sidekiqWay,
	// It loses its job to another worker where it does not renew its lock.
	{name: "BullMQ worker", start: "node bullmq.js", uses: "redis-server bullmq", prepare: startRedis,
		begin: clients("node bullmq.js add"),
		kept: func(t *testing.T, s *scene) bool {
			return s.ask(t, "node bullmq.js look") == "completed, started 1, stalled 0"
		}},
}

// rq is the command line of a worker that counts what it is sent.
const rq = "rq worker --url $REDIS_URL --worker-class rq_jobs.Counted"

// sidekiqWay looks each 0.5 s whether its jobs are done.
var sidekiqWay = way{name: "`sidekiq`", start: "sidekiq -c 1 -r ./sidekiq.rb", uses: "redis-server",
	leaves:  500 * time.Millisecond,
	prepare: startRedis, begin: clients("ruby -r ./sidekiq.rb -e Job.perform_async")}

// clients queues a job by a client of the worker's.
func clients(command string) func(t *testing.T, s *scene) {
	return func(t *testing.T, s *scene) { s.ask(t, command) }
}

func queueInRq(t *testing.T, s *scene) {
	harness.WaitUntil(t, "the queue answers",
		func() bool { return dialable(s.redis) == nil || !s.init.Running() })
	s.ask(t, "rq enqueue --url redis://"+s.redis+"/0 rq_jobs.job")
}

func redisInside(_ *testing.T, s *scene) {
	s.redis = "127.0.0.1:" + strconv.Itoa(s.port)
	s.vars = append(s.vars, "$REDIS_URL", "redis://"+s.redis+"/0")
	s.notes = filepath.Join(s.dir, "redis.log")
}

// redisOutlivedTheJob reports whether Redis was signalled at most once, and not
// before the job was done.
func redisOutlivedTheJob(t *testing.T, s *scene) bool {
	t.Helper()
	// "4:M 21 Nov 2026 13:30:02.352 # User requested shutdown..."
	before, _, signalled := strings.Cut(s.logged(), " # User requested shutdown")
	if !signalled {
		return true
	}
	_, at, _ := strings.Cut(before[strings.LastIndexByte(before, '\n')+1:], " ")
	stopped, err := time.ParseInLocation("02 Jan 2006 15:04:05.000", at, time.Local)
	harness.Must(t, err)
	return strings.Count(s.logged(), "Received SIGTERM") == 1 && !stopped.Before(s.last("done"))
}

// startRedis starts a Redis that is not below the init and waits until it
// answers. It ends with the test.
func startRedis(t *testing.T, s *scene) {
	t.Helper()
	port := strconv.Itoa(harness.ReservePort(t))
	s.redis = "127.0.0.1:" + port
	s.vars = append(s.vars, "$REDIS_URL", "redis://"+s.redis+"/0")
	s.env = append(s.env, "REDIS_URL=redis://"+s.redis+"/0")
	harness.Run(t, harness.Launch{
		NoPID1: true, Bin: "redis-server",
		Args: []string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", s.dir}})
	harness.WaitUntil(t, "redis listens", func() bool { return dialable(s.redis) == nil })
}

// ask runs a client of the worker's to its end and returns what it printed.
func (s *scene) ask(t *testing.T, command string) string {
	t.Helper()
	words := strings.Fields(command)
	client := exec.CommandContext(t.Context(), words[0], words[1:]...)
	client.Dir, client.Env = s.dir, append(os.Environ(), s.env...)
	return strings.TrimSpace(harness.OutputOf(t, client))
}
