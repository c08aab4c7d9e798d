package platform

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// A user's own podman: root in the container is that user, and may do no more than he.
func TestPodmanRootless(t *testing.T) {
	quietAndBack.run(t, podman(harness.StartPodman(t, harness.OwnUID(), "", "")))
}

// In place of catatonit: podman calls it as `/run/podman-init -- COMMAND`. What a program prints is
// all that comes out of its container until the stop.
func TestPodmanInit(t *testing.T) {
	t.Parallel()
	e := harness.StartPodman(t, 0, "init_path = \""+harness.DrainitBin+"\"", "")
	e.Ask("info") // has nothing to complain of
	silent := harness.StartPodman(t, 0, "", "").Run("silent", []string{"--init", "--init-path", harness.DrainitBin}, "/bin/busybox", "echo", "motto")
	silent.WantExit(0)
	if silent.Out() != "motto\n" || silent.Err() != "" {
		t.Errorf("stdout %q, stderr %q", silent.Out(), silent.Err())
	}

	p := e.Run("drained", []string{"--init"}, "/worker", "listen", "-drain", "300ms", "-exit", "7")
	p.WaitOut(`^ready`)
	status := e.Exec("drained", "/run/podman-init", "status")
	if status.Status != 0 || !strings.HasPrefix(status.Out, "running: drainit[1], 1 process below it") {
		t.Errorf("the status by the init is %+v", status)
	}
	e.Ask("stop", "drained")
	p.WantExit(7)
	p.WantGots("got SIGTERM")
	p.WantCount("drained", 1)
	p.WantLogged(`what still runs after 35s`, 1)
}

// A pod whose containers share their PID namespace: PID 1 is the pause program, which may be
// drainit itself, and each verb must find the drainit of its own container. podman 5 takes its
// init_path as the pause program, and podman 4 the catatonit among its helpers.
func TestPodmanPodWithASharedPIDNamespace(t *testing.T) {
	t.Parallel()
	harness.Need(t, "catatonit")
	for _, pause := range []string{"catatonit", "drainit"} {
		t.Run("paused by "+pause, func(t *testing.T) {
			t.Parallel()
			engine := ""
			if pause == "drainit" {
				helpers := t.TempDir()
				if err := unix.Symlink(harness.DrainitBin, helpers+"/catatonit"); err != nil {
					t.Fatal(err)
				}
				engine = "helper_binaries_dir = [\"" + helpers + "\"]"
			}
			runPod(t, harness.StartPodman(t, 0, "", engine), pause == "drainit")
		})
	}
}

func runPod(t *testing.T, e harness.Podman, pausedByDrainit bool) {
	t.Helper()
	e.Ask("pod", "create", "--name", "pod", "--share", "pid,net", "--network", "host", "--cgroup-parent", e.Cgroup())
	workers := make(map[string]*harness.Init)
	for _, name := range []string{"one", "two"} {
		p := harness.NewInit(t)
		p.Cmd = e.Command("run", "--pod", "pod", "--name", name, "--env", p.Marker, harness.Image,
			"/drainit", "--", "/worker", "listen", "-name", name+" ", "-catch", "TSTP,TERM", "-drain", "300ms")
		p.Start(nil, nil)
		p.WaitOut(`^` + name + ` ready`)
		workers[name] = p
	}
	e.Ask("run", "--detach", "--pod", "pod", "--name", "bare", harness.Image, "/worker", "listen")
	infra := e.Ask("pod", "inspect", "--format", "{{.InfraContainerID}}", "pod")
	if pausedByDrainit {
		pid, err := strconv.Atoi(e.Ask("inspect", "--format", "{{.State.Pid}}", infra))
		if err != nil {
			t.Fatal(err)
		}
		harness.WaitTitle(t, pid, "drainit:pause")
	}
	verb := func(name string, status int, answer string, args ...string) {
		t.Helper()
		if got := e.Exec(name, slices.Concat([]string{"/drainit"}, args)...); got.Status != status || !strings.HasPrefix(got.Out+got.Err, answer) {
			t.Errorf("%q in %s: %+v, want %d, %q", args, name, got, status, answer)
		}
	}
	verb("two", 0, "", "quiet")
	workers["two"].WaitOut(`^two got SIGTSTP`)
	verb("one", 0, "running: drainit[", "status")
	verb("one", 0, "running\n", "status", "--ready")
	verb("two", 1, "quiet\n", "status", "--ready")
	verb("bare", 125, "drainit: no drainit ", "status")

	e.Ask("stop", "one")
	workers["one"].WantExit(0)
	workers["one"].WantGots("one got SIGTERM")
	workers["one"].WantNothingLeft()
	verb("two", 0, "quiet: drainit[", "status")
	e.Ask("stop", "two")
	workers["two"].WantExit(0)
	workers["two"].WantGots("two got SIGTSTP", "two got SIGTERM")
	e.Ask("stop", "bare")
	e.Ask("pod", "stop", "pod")
	if got := e.Ask("inspect", "--format", "{{.State.ExitCode}}", infra); pausedByDrainit && got != "0" {
		t.Errorf("the pause ended with %s", got)
	}
}
