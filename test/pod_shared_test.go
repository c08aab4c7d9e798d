package test

import (
	"strings"
	"testing"
)

// A pod whose containers share their PID namespace: PID 1 is the pause program,
// and each verb must find the drainit of its own container.
func TestPodmanPodWithASharedPIDNamespace(t *testing.T) {
	t.Parallel()
	need(t, "catatonit") // podman makes the pause container of it
	e := startPodman(t, "")
	e.ask("pod", "create", "--name", "pod", "--share", "pid,net", "--network", "host", "--cgroup-parent", e.cgroup())
	workers := make(map[string]*Init)
	for _, name := range []string{"one", "two"} {
		workers[name] = e.podWorker(name)
	}
	e.ask("run", "--detach", "--pod", "pod", "--name", "bare", image, "/worker", "listen", "-drain", "1h")
	e.wantStatus("one", "running")
	e.wantStatus("two", "running")

	if quiet := e.exec("two", "/drainit", "quiet"); quiet.status != 0 {
		t.Errorf("the verb quiet: %+v", quiet)
	}
	workers["two"].waitOut(`^two got SIGTSTP`)
	e.wantStatus("one", "running")
	e.wantStatus("two", "quiet")
	e.wantReady("one", 0)
	e.wantReady("two", 1)
	if none := e.exec("bare", "/drainit", "status"); none.status != 125 || !strings.HasPrefix(none.err, "drainit: no drainit ") {
		t.Errorf("the status where no drainit is: %+v", none)
	}

	e.ask("stop", "one")
	workers["one"].wantExit(0)
	workers["one"].wantGots("one got SIGTERM")
	workers["one"].wantCount("one drained", 1)
	workers["one"].wantNothingLeft()
	e.wantStatus("two", "quiet")
	e.ask("stop", "two")
	workers["two"].wantExit(0)
	workers["two"].wantGots("two got SIGTSTP", "two got SIGTERM")
	workers["two"].wantNothingLeft()
}

// podWorker starts a container in the pod.
func (e podman) podWorker(name string) *Init {
	e.t.Helper()
	p := newInit(e.t)
	p.cmd = e.command("run", "--pod", "pod", "--name", name, "--env", p.marker, image,
		"/drainit", "--", "/worker", "listen", "-name", name+" ", "-catch", "TSTP,TERM", "-drain", "300ms")
	p.start(nil, nil)
	p.waitOut(`^` + name + ` ready`)
	return p
}

// wantReady checks with which status a readiness probe ends.
func (e podman) wantReady(name string, want int) {
	e.t.Helper()
	if got := e.exec(name, "/drainit", "status", "--ready"); got.status != want {
		e.t.Errorf("status --ready in %s: %+v, want %d", name, got, want)
	}
}
