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
	worker := 0
	harness.WaitUntil(t, "the main thread has ended", func() bool {
		for _, pid := range s.init.Below() { // of drainit, or of the one that drainit plan has started
			if harness.StateOf(pid) == 'Z' {
				worker = pid
			}
		}
		return worker != 0
	})
	harness.Kill(t, worker, syscall.SIGSTOP)
}

// renewed reports whether the worker of BullMQ has kept its job: it loses that to another one where it does
// not renew its lock.
func renewed(t *testing.T, s *scene) bool {
	return s.ask(t, "node bullmq.js look") == "completed, started 1, stalled 0"
}

// clients queues a job by a client of the worker's.
func clients(command string) func(t *testing.T, s *scene) {
	return func(t *testing.T, s *scene) { s.ask(t, command) }
}

func queueInRq(t *testing.T, s *scene) {
	harness.WaitUntil(t, "the queue answers",
		func() bool { return harness.Listens(s.redis) || !s.init.Running() })
	s.ask(t, "rq enqueue --url redis://"+s.redis+"/0 rq_jobs.job")
}

func redisInside(_ *testing.T, s *scene) {
	s.redis = "127.0.0.1:" + strconv.Itoa(s.port)
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
	harness.WaitUntil(t, "redis listens", func() bool { return harness.Listens(s.redis) })
}

// ask runs a client of the worker's to its end and returns what it printed.
func (s *scene) ask(t *testing.T, command string) string {
	t.Helper()
	words := strings.Fields(command)
	client := exec.CommandContext(t.Context(), words[0], words[1:]...)
	client.Dir, client.Env = s.dir, append(os.Environ(), s.env...)
	return strings.TrimSpace(harness.OutputOf(t, client))
}
