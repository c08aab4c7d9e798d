package test

import (
	"strings"
	"testing"
	"time"
)

// What an exec runs is not drainit's: it is not signalled, and not waited for.
func TestDockerExecIsNotPartOfTheDrain(t *testing.T) {
	t.Parallel()
	c := docker(t).run(t, "--", "/drainit", "--", "/worker", "listen", "-drain", "300ms")
	c.waitOut(`^ready`)
	shell := c.d.begin(t, "exec", c.name, "/worker", "listen", "-drain", "1h")
	shell.waitOut(`^ready`)
	c.do("stop", "--time", "60")
	c.wantExit(0)
	shell.wantExit(137)
	if got := shell.out(); strings.Contains(got, "got") {
		t.Errorf("the exec was signalled:\n%s", got)
	}
}

// A process that an exec leaves in the background becomes drainit's child: it
// is signalled once, when the worker has gone, and waited for.
func TestDockerExecLeavesAProcess(t *testing.T) {
	t.Parallel()
	c := docker(t).run(t, "--", "/drainit", "-v", "--", "/worker", "listen", "-drain", "300ms")
	c.waitOut(`^ready`)
	c.exec("sh", "-c", "/worker listen -name left: -drain 300ms >/proc/1/fd/2 2>&1 &")
	c.waitErr(`^left:ready`)
	begin := time.Now()
	c.do("stop", "--time", "60")
	c.wantExit(0)
	if took := time.Since(begin); took > atOnce {
		t.Errorf("the drain took %v", took)
	}
	if got := strings.Count(c.err(), "left:got SIGTERM"); got != 1 {
		t.Errorf("what the exec left was signalled %d times:\n%s", got, c.err())
	}
	c.waitErr(`^left:drained`)
	if got := c.out(); !strings.HasSuffix(got, "\ngot SIGTERM\ndrained\n") {
		t.Errorf("the worker was signalled otherwise:\n%s", got)
	}
}

// Two drainits in one PID namespace: each verb finds its own container's.
func TestDockerSharedPIDNamespace(t *testing.T) {
	t.Parallel()
	d := docker(t)
	first := d.run(t, "--", "/drainit", "--", "/worker", "listen", "-catch", "TERM,TSTP")
	first.waitOut(`^ready`)
	second := d.run(t, "--pid", "container:"+first.name, "--", "/drainit", "--", "/worker", "listen", "-catch", "TERM,TSTP")
	second.waitOut(`^ready`)
	second.exec("/drainit", "quiet")
	second.waitOut(`^got SIGTSTP`)
	for c, want := range map[*dockerContainer]string{first: "running: drainit[1]", second: "quiet: drainit["} {
		if got := c.exec("/drainit", "status"); !strings.HasPrefix(got, want) {
			t.Errorf("the status is %q, want %q", got, want)
		}
	}
	second.do("stop")
	second.wantExit(0)
	first.exec("/drainit", "stop")
	first.wantExit(0)
	for c, want := range map[*dockerContainer]string{first: "\ngot SIGTERM\ndrained\n", second: "\ngot SIGTSTP\ngot SIGTERM\ndrained\n"} {
		if _, got, _ := strings.Cut(strings.TrimPrefix(c.out(), "ready"), "\n"); "\n"+got != want {
			t.Errorf("a worker got %q, want %q", got, want)
		}
	}
}

// With the PID namespace of the machine (here: of the engine, which is the
// tests' own) drainit is not PID 1. It sees all processes and touches its own.
func TestDockerHostPIDNamespace(t *testing.T) {
	t.Parallel()
	d := docker(t)
	other := d.run(t, "--", "/drainit", "--", "/worker", "listen", "-drain", "300ms")
	other.waitOut(`^ready`)
	c := d.run(t, "--pid", "host", "--", "/drainit", "--grace", "3s", "--",
		"sh", "-c", "setsid sh -c '(trap \"\" TERM; echo stubborn; exec sleep 1000) & exec /worker listen -name daemon:' & exec /worker listen")
	c.waitOut(`^ready`)
	c.waitOut(`^daemon:ready`)
	c.waitOut(`^stubborn`)
	if got := c.exec("sh", "-c", "ps | grep -c '[d]ockerd'"); got == "0" {
		t.Error("the container does not see the engine")
	}
	if got := c.exec("/drainit", "status"); !strings.HasPrefix(got, "running: drainit[") || strings.Contains(got, "[1]") {
		t.Errorf("the status is another's:\n%s", got) // PID 1 here is the drainit above the engine
	}
	c.do("stop", "--time", "60")
	c.wantExit(137) // for the stubborn one
	c.waitErr(`killed.*sleep`)
	for _, want := range []string{"\ngot SIGTERM\n", "\ndaemon:got SIGTERM\n"} {
		if got := strings.Count(c.out(), want); got != 1 {
			t.Errorf("%q %d times:\n%s", want, got, c.out())
		}
	}

	other.do("stop") // by an engine that lives
	other.wantExit(0)
	if got := other.out(); !strings.HasSuffix(got, "\ngot SIGTERM\ndrained\n") {
		t.Errorf("the other container got something else:\n%s", got)
	}
}
