package platform

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"drainit/test/harness"
	"drainit/test/harness/console"
	"drainit/test/harness/engines"
)

// runtimeFor installs drainit, and returns its path as a runtime above the real runc.
func runtimeFor(t *testing.T) string {
	harness.Need(t, "runc")
	return filepath.Join(install(t).opt, "drainit-runtime")
}

// asImage makes the config.json of a container that has no drainit of its own, with changes: pairs of a text
// and what it becomes.
func asImage(changes ...string) func(string) string {
	return func(config string) string {
		lines := strings.Split(config, "\n")
		for i, line := range lines {
			if strings.Contains(line, `"destination": "/drainit"`) {
				lines[i] = ""
			}
		}
		return strings.NewReplacer(changes...).Replace(strings.Join(lines, "\n"))
	}
}

// startImage runs a container below drainit as a runtime.
func startImage(t *testing.T, edit func(string) string, command ...string) engines.RuncContainer {
	c := engines.NewRunc(t, runtimeFor(t), edit, command)
	c.Init = harness.Run(t, harness.Launch{Cmd: c.Run})
	return c
}

// shell is a command line of busybox's shell.
func shell(script string) []string { return []string{"/busybox", "sh", "-c", script} }

const startsAWorker = "echo starting; /worker listen -drain 300ms -exit 7; exit $?"

// The container has what a strict manifest gives: a read-only root, a plain user, no capabilities.
func TestRuntimeDrainsAStartScript(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(string) string{
		"with few rights": asImage(),
		"as root": asImage(`{"uid": 65532, "gid": 65532}`, `{"uid": 0, "gid": 0}`,
			`"readonly": true`, `"readonly": false`),
		"by annotations of Kubernetes": asImage(`"ociVersion"`,
			`"annotations": {"io.kubernetes.pod.terminationGracePeriod": "30"}, "ociVersion"`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startImage(t, edit, shell("/worker listen -catch TERM,USR1 -end USR1 -exit 7; exit $?")...)
			c.WaitOut(`^ready`)
			status := c.Exec("/drainit", "status")
			status.WantExit(0)
			if got := status.Out(); !strings.HasPrefix(got, "running: drainit[1], 2 processes below it") {
				t.Errorf("the status is %q", got)
			}
			c.Exec("/busybox", "sh", "-c", "exit 5").WantExit(5)
			c.Kill("TERM")
			c.WaitOut(`^got SIGTERM`)
			harness.PastTheSameRequest()
			c.Kill("TERM") // by a containerd that has been restarted
			c.Kill("USR1")
			c.WantExit(7)
			wantLast(c.Init, "got SIGTERM", "got SIGUSR1", "drained")
			limit := "35s"
			if name == "by annotations of Kubernetes" {
				limit = "27s"
			}
			c.WantLogged("what still runs after "+limit, 1)
		})
	}
}

func TestRuntimesExitStatus(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		command []string
		status  int
		line    string
	}{
		{shell("exit 0"), 0, ""},
		{shell("exit 3"), 3, "stopped: busybox.* exited with status 3"},
		{shell("kill -KILL $$"), 137, "was killed by SIGKILL"},
		{[]string{"/no/such"}, 127, `cannot run \\"/no/such\\": there is no such file`},
		{[]string{"nosuch", "x"}, 127, `cannot run \\"nosuch\\": not found in PATH`},
		{[]string{"/proc"}, 126, `cannot run \\"/proc\\": /proc: is a directory`},
	} {
		c := startImage(t, asImage(), tt.command...)
		c.WantExit(tt.status)
		if !harness.Matches(tt.line, c.Err()) {
			t.Errorf("%q: %s", tt.command, c.Err())
		}
	}
}

// As containerd does it.
func TestRuntimeCreatesStartsKillsAndDeletes(t *testing.T) {
	t.Parallel()
	c := engines.NewRunc(t, runtimeFor(t), asImage(), shell(startsAWorker))
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	harness.Must(t, err)
	defer out.Close()
	create := c.Create()
	create.Stdout, create.Stderr = out, out
	harness.Must(t, create.Run())
	isIn := func(state string) bool {
		text := harness.OutputOf(t, c.Call("state"))
		return strings.Contains(text, `"status": "`+state+`"`)
	}
	if !isIn("created") || harness.SoFar(out.Name()) != "" {
		t.Errorf("it has started before: %q", harness.SoFar(out.Name()))
	}
	harness.OutputOf(t, c.Call("start"))
	harness.WaitUntil(t, "the worker is ready", func() bool {
		return strings.Contains(harness.SoFar(out.Name()), "\nready")
	})
	c.Kill("TERM")
	harness.WaitUntil(t, "the container has stopped", func() bool { return isIn("stopped") })
	harness.OutputOf(t, c.Call("delete"))
	if text := harness.SoFar(out.Name()); strings.Count(text, "got SIGTERM\n") != 1 ||
		strings.Count(text, "drained\n") != 1 {
		t.Errorf("the worker has printed %q", text)
	}
}

func TestRuntimeOnATerminal(t *testing.T) {
	t.Parallel()
	c := engines.NewRunc(t, runtimeFor(t), asImage(`"args":`, `"terminal": true, "args":`),
		shell(`[ -t 0 ] && [ -t 1 ] && echo on a terminal; exec /busybox cat`))
	on := console.At(t, harness.Launch{Cmd: func(marker string) *exec.Cmd {
		cmd := c.Run(marker)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		return cmd
	}})
	on.WaitOut(`^on a terminal`)
	on.Keys("typed\r")
	on.WaitOut(`^typed\r\ntyped`)
	on.Keys("\x03")
	on.WantExit(130)
}

// With docker run --runtime and with podman --runtime an image has drainit that has none.
func TestDockerRuntime(t *testing.T) {
	t.Parallel()
	engines.NeedDocker(t)
	d := engines.StartDockerd(t, "--add-runtime", "drainit="+runtimeFor(t))
	t.Cleanup(func() {
		if err := d.End(); err != nil {
			t.Error(err)
		}
	})
	entrypoint := `ENTRYPOINT ["/bin/sh", "-c", "` + startsAWorker + `"]`
	d.ImportImage(t, "plain", []string{entrypoint}, func(r *engines.Rootfs) {
		r.Busybox()
		r.Copy("/worker", harness.WorkerBin)
	})
	for _, tt := range []struct {
		name, flags string
		status      int
	}{
		{"alone", "", 7},
		{"with few rights", "--read-only --user 65532 --cap-drop ALL --pids-limit 40", 7},
		{"above tini, whose child dies", "--init", 143},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := d.Run(t, "plain", strings.Fields("--runtime drainit --env DRAINIT_GRACE=9s "+tt.flags))
			c.WaitOut(`^ready`)
			c.Do("stop")
			c.WantExit(tt.status)
			wantLast(c.Init, "got SIGTERM", "drained")
			c.WaitErr(`what still runs after 9s`)
		})
	}
	t.Run("a container of the host's PID namespace", func(t *testing.T) {
		flags := strings.Fields("--runtime drainit --pid host --entrypoint /worker")
		c := d.Run(t, "plain", flags, "listen", "-exit", "3")
		c.WaitOut(`^ready`)
		c.Do("stop")
		c.WantExit(3)
		if c.Err() != "" {
			t.Errorf("drainit is there: %s", c.Err())
		}
	})
}

func TestPodmanRuntime(t *testing.T) {
	t.Parallel()
	runtime := runtimeFor(t)
	e := engines.StartPodman(t, 0, "", "")
	run := func(name string, flags ...string) *harness.Init {
		return harness.Run(t, harness.Launch{Cmd: func(marker string) *exec.Cmd {
			args := append([]string{"--runtime", runtime, "run", "--name", name, "--network", "host",
				"--cgroup-parent", e.Cgroup(), "--env", marker,
				"--entrypoint", `["/bin/busybox", "sh", "-c"]`}, flags...)
			return e.Command(append(args, "localhost/plain", startsAWorker)...)
		}})
	}
	engines.Feed(t, e.Command("import", "-", "localhost/plain"), func(r *engines.Rootfs) {
		r.Copy("worker", harness.WorkerBin)
		r.Copy("bin/busybox", harness.PathOf(t, "busybox"))
	})
	p := run("drained", "--env", "DRAINIT_GRACE=9s")
	p.WaitOut(`^ready`)
	e.Ask("stop", "drained")
	p.WantExit(7)
	wantLast(p, "got SIGTERM", "drained")
	p.WantLogged(`what still runs after 9s`, 1)

	without := run("without", "--annotation", "drainit/init=false")
	without.WaitOut(`^ready`)
	if got := e.Exec("without", "/drainit", "status"); got.Status == 0 {
		t.Errorf("drainit is in a container that has declined: %+v", got)
	}
	harness.OutputOf(t, e.Command("kill", "without"))
	without.WantExit(137)
}
