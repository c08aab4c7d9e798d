package platform

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"drainit/test/harness"
)

// startPod runs the container of a manifest as a kubelet would, its commands to
// the letter. The text is in the file of the termination message afterwards.
func startPod(t *testing.T, c podContainer) (box harness.RuncContainer, message string) {
	t.Helper()
	var env []string
	for _, variable := range c.Env {
		env = append(env, variable.Name+"="+variable.Value)
	}
	message = harness.TerminationLog(t)
	box = harness.StartRunc(t, harness.Bundle{
		Args:     slices.Concat(c.Command, c.Args),
		Env:      env,
		Binds:    map[string]string{"/busybox": harness.StaticBusybox(t)},
		Writable: map[string]string{"/dev/termination-log": message},
		Loopback: true,
	})
	box.WaitOut(`^ready`)
	return box, message
}

// url is where a probe asks, from inside the pod.
func (c podContainer) url(p probe) string {
	return fmt.Sprintf("http://127.0.0.1:%d%s", c.Ports[0].ContainerPort, p.HTTPGet.Path)
}

// wantProbe checks whether a probe of the manifest succeeds.
func wantProbe(c harness.RuncContainer, p podContainer, of probe, want bool) {
	c.T.Helper()
	command := of.Exec.Command
	if of.HTTPGet.Path != "" {
		command = []string{"/busybox", "wget", "-q", "-O", "-", p.url(of)}
	}
	ran := c.Exec(command...)
	if got := ran.Wait() == 0; got != want {
		c.T.Errorf("%q: success %v, want %v\n%s%s", command, got, want, ran.Out(), ran.Err())
	}
}

// The end of a pod: the hook, and TERM when it has come back.
func TestDeploymentAsAKubeletRunsIt(t *testing.T) {
	t.Parallel()
	_, p := readManifest(t, "deployment.yaml")
	box, message := startPod(t, p)
	wantProbe(box, p, p.ReadinessProbe, true)
	wantProbe(box, p, p.LivenessProbe, true)

	began := time.Now()
	hook := box.Exec(p.Lifecycle.PreStop.Exec.Command...)
	box.WaitOut(`^got SIGTSTP`)
	wantProbe(box, p, p.ReadinessProbe, false)
	wantProbe(box, p, p.LivenessProbe, true)
	hook.WantExit(0)
	harness.WantTookAtLeast(t, began, 5*time.Second)
	box.WantGots("got SIGTSTP")

	box.Kill("TERM")
	box.WaitOut(`^got SIGTERM`)
	wantProbe(box, p, p.ReadinessProbe, false)
	wantProbe(box, p, p.LivenessProbe, true)
	box.WantExit(0)
	box.WantGots("got SIGTSTP", "got SIGTERM")
	box.WantCount("drained", 1)
	box.WantLogged(`what still runs after 1m20s`, 1)
	box.WantLogged(harness.KillLine, 0)
	harness.WantMessage(t, message, `^$`)
	box.WantNothingLeft()
}

func TestJobAsAKubeletRunsIt(t *testing.T) {
	t.Parallel()
	_, p := readManifest(t, "job.yaml")
	box, message := startPod(t, p)
	wantProbe(box, p, p.LivenessProbe, true)
	box.Kill("TERM")
	box.WaitOut(`^got SIGTERM`)
	wantProbe(box, p, p.LivenessProbe, true)
	box.WantExit(1) // the task's own: not done
	box.WantLogged(`what still runs after 1m`, 1)
	harness.WantMessage(t, message, `^$`)
	box.WantNothingLeft()
}

// The pods of the manifests under podman. It knows nothing of a hook, of
// readiness, of the time to stop, nor of the kinds that make pods of a template,
// and would publish their ports on this machine: those are left out.
func TestPodmanKubePlay(t *testing.T) {
	t.Parallel()
	harness.Need(t, "catatonit") // podman makes the pause container of it
	e := harness.StartPodman(t, "")
	for file, status := range map[string]int{"deployment.yaml": 0, "job.yaml": 1} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			e := e
			e.T = t
			playAndStop(e, file, status)
		})
	}
}

func playAndStop(e harness.Podman, file string, status int) {
	e.T.Helper()
	_, c := readManifest(e.T, file)
	name := play(e, file) + "-" + c.Name
	wantLogs(e, name, `^ready`, 1)
	wantStatus(e, name, "running")
	wantStrict(e, name)
	if c.Ports != nil {
		wantHTTP(e, name, c, "running")
	}
	if quiet := e.Exec(name, "/drainit", "quiet"); quiet.Status != 0 {
		e.T.Errorf("the verb quiet: %+v", quiet)
	}
	wantStatus(e, name, "quiet")
	if out, err := e.Command("stop", name).CombinedOutput(); err != nil { // complains again
		e.T.Fatalf("podman stop: %v\n%s", err, out)
	}
	wantEnded(e, name, status)
	wantLogs(e, name, `^drained$`, 1)
}

// play makes a pod of a manifest's template, without a network; it has the
// manifest's name.
func play(e harness.Podman, file string) (name string) {
	e.T.Helper()
	var m struct {
		Metadata harness.Object
		Spec     struct{ Template struct{ Spec harness.Object } }
	}
	if err := json.Unmarshal(asJSON(e.T, file), &m); err != nil {
		e.T.Fatal(err)
	}
	pod := m.Spec.Template.Spec
	delete(pod["containers"].([]any)[0].(harness.Object), "ports")
	text, err := json.Marshal(harness.Object{"apiVersion": "v1", "kind": "Pod", "metadata": m.Metadata, "spec": pod})
	if err != nil {
		e.T.Fatal(err)
	}
	path := filepath.Join(e.Dir, filepath.Base(file))
	if err := os.WriteFile(path, text, 0o644); err != nil {
		e.T.Fatal(err)
	}
	play := e.Command("kube", "play", "--network", "none", path)
	play.Dir = e.Dir // it would build an image from a folder of that name
	// It complains that there is no systemd to call a liveness probe.
	if out, err := play.CombinedOutput(); err != nil {
		e.T.Fatalf("podman kube play %s: %v\n%s", file, err, out)
	}
	return m.Metadata["name"].(string)
}

// wantStrict checks that PID 1 has what the securityContexts ask for.
func wantStrict(e harness.Podman, name string) {
	e.T.Helper()
	status := e.Exec(name, "/bin/busybox", "cat", "/proc/1/status").Out
	for _, want := range []string{`Uid:\t65532\t`, `CapEff:\t0+$`, `CapBnd:\t0+$`, `NoNewPrivs:\t1$`, `Seccomp:\t2$`} {
		if !regexp.MustCompile("(?m)^" + want).MatchString(status) {
			e.T.Errorf("%s: not %q:\n%s", name, want, status)
		}
	}
	if touch := e.Exec(name, "/bin/busybox", "touch", "/file"); !strings.Contains(touch.Err, "Read-only file system") {
		e.T.Errorf("%s: the root can be written: %+v", name, touch)
	}
}

// wantHTTP checks that readiness and liveness are answered.
func wantHTTP(e harness.Podman, name string, c podContainer, body string) {
	e.T.Helper()
	for _, probe := range []probe{c.ReadinessProbe, c.LivenessProbe} {
		if got := e.Exec(name, "/bin/busybox", "wget", "-q", "-O", "-", c.url(probe)); strings.TrimSpace(got.Out) != body {
			e.T.Errorf("%s: %s says %+v", name, c.url(probe), got)
		}
	}
}
