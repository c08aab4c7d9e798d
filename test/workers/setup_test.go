package workers

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"drainit/test/harness"
)

// noneSignalled reports whether no handler ran.
func noneSignalled(_ *testing.T, s *scene) bool { return s.count("signalled") == 0 }

// supervisord is a configuration of these programs, for which it waits as long as it takes. It
// stops the last one first, and the one before when that has gone.
func supervisord(setting string, commands ...string) files {
	conf := "[supervisord]\nnodaemon=true\nlogfile=/dev/null\nlogfile_maxbytes=0\n"
	for i, command := range commands {
		conf += "[program:app" + string(rune('0'+i)) + "]\ncommand=" + command + "\nstopwaitsecs=60\n" + setting + "\n"
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
		"package.json":              `{"name": "root", "version": "1.0.0", "private": true, "workspaces": ["packages/*"]}`,
		"lerna.json":                `{"version": "1.0.0", "packages": ["packages/*"]` + setting + `}`,
		"nx.json":                   `{"analytics": false}`,
		"packages/app/package.json": `{"name": "app", "version": "1.0.0", "private": true, "scripts": {"start": "node ../../app.js"}}`,
	}
}

// daemonLast reports whether the daemon was signalled when the applications had done their jobs.
func daemonLast(_ *testing.T, s *scene) bool { return !s.last("signalled").Before(s.last("done")) }

// hiddenBash is a copy of bash whose files and system calls another user may not read, and goTask
// one of perl with the name of a program that passes no signal on.
func hiddenBash(t *testing.T, s *scene) { s.copyOf(t, "bash", "bash", 0o711) }
func goTask(t *testing.T, s *scene)     { s.copyOf(t, "perl", "task", 0o755) }

func (s *scene) copyOf(t *testing.T, program, name string, mode os.FileMode) {
	t.Helper()
	b, err := os.ReadFile(harness.PathOf(t, program))
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, name), b, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
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
		s.vars = append(s.vars, "$JAVA", strings.Join(harness.Java(t, testdata(t, program+".java")), " "))
	}
}

// goCaches are those of the test: the worker's home is another.
func goCaches(t *testing.T, s *scene) {
	home, err := os.UserHomeDir()
	cache, cacheErr := os.UserCacheDir()
	if err := errors.Join(err, cacheErr); err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, "GOPROXY=off", "GOTOOLCHAIN=local",
		"GOCACHE="+cmp.Or(os.Getenv("GOCACHE"), filepath.Join(cache, "go-build")), "GOPATH="+cmp.Or(os.Getenv("GOPATH"), filepath.Join(home, "go")))
}

// prefer lets a way's processes go before others, where root runs the tests: tsx kills
// an application that has not answered its signal within 60 ms, as happens on a busy
// machine.
func prefer(t *testing.T, s *scene) {
	t.Helper()
	harness.WaitUntil(t, "the job begins", func() bool { return s.count("begin") == 1 || !s.init.Running() })
	for _, pid := range s.init.Alive() {
		if os.Geteuid() != 0 {
			return
		}
		if err := syscall.Setpriority(syscall.PRIO_PROCESS, pid, -20); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Error(err)
		}
		// Where each session has a share of its own, that counts instead (sched(7)).
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), []byte("-20"), 0)
	}
}

// stopThreads stops the worker when its job has begun.
func stopThreads(t *testing.T, s *scene) {
	t.Helper()
	harness.WaitUntil(t, "the job begins", func() bool { return s.count("begin") == 1 })
	worker := s.init.FirstChild()
	harness.WaitUntil(t, "the main thread has ended", func() bool { return harness.StateOf(worker) == 'Z' })
	harness.Kill(t, worker, syscall.SIGSTOP)
}
