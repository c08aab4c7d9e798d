package platform

import (
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// podman 5 asks it of its init_path, and podman 4 of the catatonit among its helpers.
func TestPodmanPodPausedByDrainit(t *testing.T) {
	t.Parallel()
	e := harness.StartPodman(t, "")
	helpers := t.TempDir()
	if err := unix.Symlink(harness.DrainitBin, helpers+"/catatonit"); err != nil {
		t.Fatal(err)
	}
	e.Configure("helper_binaries_dir = [\"" + helpers + "\"]")
	e.Ask("pod", "create", "--name", "pod", "--share", "pid,net", "--network", "host", "--cgroup-parent", e.Cgroup())
	e.Ask("pod", "start", "pod")
	infra := e.Ask("pod", "inspect", "--format", "{{.InfraContainerID}}", "pod")
	pid, err := strconv.Atoi(e.Ask("inspect", "--format", "{{.State.Pid}}", infra))
	if err != nil {
		t.Fatal(err)
	}
	harness.WaitTitle(t, pid, "drainit:pause")
	p := podWorker(e, "one")
	wantStatus(e, "one", "running")
	e.Ask("stop", "one")
	p.WantExit(0)
	e.Ask("pod", "stop", "pod")
	if got := e.Ask("inspect", "--format", "{{.State.ExitCode}}", infra); got != "0" {
		t.Errorf("the pause ended with %s", got)
	}
}

// In place of catatonit: podman calls it as `/run/podman-init -- COMMAND`.
func TestPodmanInit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		settings string
		flags    []string
	}{
		"--init-path":               {"", []string{"--init", "--init-path", harness.DrainitBin}},
		"init_path in the settings": {"init_path = \"" + harness.DrainitBin + "\"", []string{"--init"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := harness.StartPodman(t, tt.settings)
			e.Ask("info") // has nothing to complain of
			initIsSilent(e, tt.flags)
			drainsAsInit(e, tt.flags)
		})
	}
}

// initIsSilent checks that what a program prints is all that comes out of its
// container.
func initIsSilent(e harness.Podman, flags []string) {
	e.T.Helper()
	p := e.Run("silent", flags, "/bin/busybox", "cat", "/motto")
	p.WantExit(0)
	if p.Out() != harness.Motto || p.Err() != "" {
		e.T.Errorf("stdout %q, stderr %q", p.Out(), p.Err())
	}
}

// drainsAsInit checks that drainit is what is in front of the worker, drains it
// and returns its status, though the container was started without it.
func drainsAsInit(e harness.Podman, flags []string) {
	e.T.Helper()
	p := e.Run("drained", flags, "/worker", "listen", "-drain", "300ms", "-exit", "7")
	p.WaitOut(`^ready`)
	status := e.Exec("drained", "/run/podman-init", "status")
	if status.Status != 0 || !strings.HasPrefix(status.Out, "running: drainit[1], 1 process below it") {
		e.T.Errorf("the status by the init is %+v", status)
	}
	e.Ask("stop", "drained")
	p.WantExit(7)
	p.WantGots("got SIGTERM")
	p.WantCount("drained", 1)
	p.WantLogged(`what still runs after 30s`, 1)
}

// A user's own podman: root in the container is that user, and may do no more
// than he.
func TestPodmanRootless(t *testing.T) {
	t.Parallel()
	e := harness.StartPodmanOf(t, harness.OwnUID(), "")
	p := worker(e, "rootless", nil, nil, "-catch", "TSTP,TERM", "-drain", "300ms")
	wantStatus(e, "rootless", "running")
	if quiet := e.Exec("rootless", "/drainit", "quiet"); quiet.Status != 0 {
		t.Errorf("the verb quiet: %+v", quiet)
	}
	p.WaitOut(`^got SIGTSTP`)
	e.Ask("stop", "rootless")
	p.WantExit(0)
	p.WantGots("got SIGTSTP", "got SIGTERM")
	p.WantCount("drained", 1)
}

// A pod whose containers share their PID namespace: PID 1 is the pause program,
// and each verb must find the drainit of its own container.
func TestPodmanPodWithASharedPIDNamespace(t *testing.T) {
	t.Parallel()
	harness.Need(t, "catatonit") // podman makes the pause container of it
	e := harness.StartPodman(t, "")
	e.Ask("pod", "create", "--name", "pod", "--share", "pid,net", "--network", "host", "--cgroup-parent", e.Cgroup())
	workers := make(map[string]*harness.Init)
	for _, name := range []string{"one", "two"} {
		workers[name] = podWorker(e, name)
	}
	e.Ask("run", "--detach", "--pod", "pod", "--name", "bare", harness.Image, "/worker", "listen", "-drain", "1h")
	wantStatus(e, "one", "running")
	wantStatus(e, "two", "running")

	if quiet := e.Exec("two", "/drainit", "quiet"); quiet.Status != 0 {
		t.Errorf("the verb quiet: %+v", quiet)
	}
	workers["two"].WaitOut(`^two got SIGTSTP`)
	wantStatus(e, "one", "running")
	wantStatus(e, "two", "quiet")
	wantReady(e, "one", 0)
	wantReady(e, "two", 1)
	if none := e.Exec("bare", "/drainit", "status"); none.Status != 125 || !strings.HasPrefix(none.Err, "drainit: no drainit ") {
		t.Errorf("the status where no drainit is: %+v", none)
	}

	e.Ask("stop", "one")
	workers["one"].WantExit(0)
	workers["one"].WantGots("one got SIGTERM")
	workers["one"].WantCount("one drained", 1)
	workers["one"].WantNothingLeft()
	wantStatus(e, "two", "quiet")
	e.Ask("stop", "two")
	workers["two"].WantExit(0)
	workers["two"].WantGots("two got SIGTSTP", "two got SIGTERM")
	workers["two"].WantNothingLeft()
}

// podWorker starts a container in the pod.
func podWorker(e harness.Podman, name string) *harness.Init {
	e.T.Helper()
	p := harness.NewInit(e.T)
	p.Cmd = e.Command("run", "--pod", "pod", "--name", name, "--env", p.Marker, harness.Image,
		"/drainit", "--", "/worker", "listen", "-name", name+" ", "-catch", "TSTP,TERM", "-drain", "300ms")
	p.Start(nil, nil)
	p.WaitOut(`^` + name + ` ready`)
	return p
}

// wantReady checks with which status a readiness probe ends.
func wantReady(e harness.Podman, name string, want int) {
	e.T.Helper()
	if got := e.Exec(name, "/drainit", "status", "--ready"); got.Status != want {
		e.T.Errorf("status --ready in %s: %+v, want %d", name, got, want)
	}
}
