package platform

import (
	"strings"
	"testing"

	"drainit/test/harness"
	"drainit/test/harness/engines"
)

// wantLast checks the last lines that a worker has printed.
func wantLast(p *harness.Init, lines ...string) {
	p.T.Helper()
	if got, want := p.Out(), "\n"+strings.Join(lines, "\n")+"\n"; !strings.HasSuffix(got, want) {
		p.T.Errorf("the worker has printed %q, want %q at the end\n%s", got, want, p.Err())
	}
}

// behindAShell is a worker that drainit must look for in /proc to signal it.
var behindAShell = []string{"sh", "-c", "/worker listen -drain 300ms -exit 7; exit $?"}

// stopShell stops a container with such a worker, which drains.
func stopShell(c *engines.DockerContainer) {
	c.T.Helper()
	c.WaitOut(`^ready`)
	c.Do("stop")
	c.WantExit(7)
	wantLast(c.Init, "got SIGTERM", "drained")
}

// With dockerd --init-path every docker run --init has drainit as its PID 1.
func TestDockerInitIsDrainit(t *testing.T) {
	t.Parallel()
	engines.NeedDocker(t)
	d := engines.StartDockerd(t, "--init-path", harness.DrainitBin)
	t.Cleanup(func() {
		if err := d.End(); err != nil {
			t.Error(err)
		}
	})
	t.Run("prints its end alone, for the status is not 0", func(t *testing.T) {
		c := d.Run(t, "base", []string{"--init"}, "sh", "-c", "cat /proc/1/cmdline; echo; exit 3")
		c.WantExit(3)
		const want = "/sbin/docker-init\x00--\x00sh\x00-c\x00cat /proc/1/cmdline; echo; exit 3\x00\n"
		if c.Out() != want {
			t.Errorf("printed %q, want %q", c.Out(), want)
		}
		c.WantLogged(`"event":"ended"`, 1)
		c.WantLogged(`^.+$`, 1)
	})
	t.Run("is set by the environment", func(t *testing.T) {
		c := d.Run(t, "base", []string{"--init", "--env", "DRAINIT_GRACE=500ms"}, "/worker",
			"listen", "-drain", "1h")
		c.WaitOut(`^ready`)
		c.Do("stop")
		c.WantExit(137)
		c.WaitErr(`grace period of 500ms over`)
	})
	// the variables are for the first drainit there is, and a flag is for its own
	t.Run("above a drainit", func(t *testing.T) {
		c := d.Run(t, "base", []string{"--init", "--env", "DRAINIT_GRACE=50s"},
			harness.Line([]string{"/drainit", "--grace", "20s"}, behindAShell...)...)
		stopShell(c)
		c.WaitErr(`what still runs after 50s`)
		c.WaitErr(`what still runs after 20s`)
	})
}

// Each takes something from a container that drainit might need, or puts another init above it.
func TestDockerDrainsWithFewRights(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string]string{
		"with Docker's seccomp profile": "",
		"without a seccomp profile":     "--security-opt seccomp=unconfined",
		"as root without capabilities":  "--cap-drop ALL",
		"with none, as a plain user": "--read-only --user 65532:65532 --cap-drop ALL --security-opt " +
			"no-new-privileges --pids-limit 40",
		"with Docker's own init above it": "--init",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stopShell(engines.Docker(t).Run(t, "base", strings.Fields(flags),
				append([]string{"/drainit", "-v", "--"}, behindAShell...)...))
		})
	}
}

// The kernel kills what has the most memory: the worker, and not drainit.
func TestDockerMemoryLimitKillsTheWorker(t *testing.T) {
	t.Parallel()
	c := engines.Docker(t).Run(t, "base", []string{"--memory", "32m"}, "/drainit", "--", "dd", "if=/dev/zero",
		"of=/dev/null", "bs=200M", "count=1")
	c.WantExit(137)
	c.WaitErr(`dd\[\d+\] was killed by SIGKILL, which drainit did not send: out of memory, its limit of ` +
		`CPU time, or a kill from outside`)
}

// What an exec runs is not drainit's: it is neither signalled nor waited for. A process that an exec
// leaves in the background becomes drainit's child: it is signalled once, when the worker has gone,
// and waited for.
func TestDockerExecs(t *testing.T) {
	t.Parallel()
	c := engines.Docker(t).Run(t, "base", nil, "/drainit", "-v", "--", "/worker", "listen", "-drain", "300ms")
	c.WaitOut(`^ready`)
	running := c.D.Begin(t, "exec", c.Name, "/worker", "listen", "-drain", "1h")
	running.WaitOut(`^ready`)
	c.D.Do(t, "exec", c.Name, "sh", "-c", "/worker listen -name left: -drain 300ms >/proc/1/fd/2 2>&1 &")
	c.WaitErr(`^left:ready`)
	c.Do("stop", "--time", "60")
	c.WantExit(0)
	wantLast(c.Init, "got SIGTERM", "drained")
	c.WantLogged(`^left:got SIGTERM$`, 1)
	c.WantLogged(`^left:drained$`, 1)
	running.WantExit(137)
	running.WantGots()
}
