package test

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
)

// startPod runs the container of a manifest as a kubelet would, its commands to
// the letter. The text is in the file of the termination message afterwards.
func startPod(t *testing.T, c podContainer) (box runcContainer, message string) {
	t.Helper()
	need(t, "busybox")
	var env []string
	for _, variable := range c.Env {
		env = append(env, variable.Name+"="+variable.Value)
	}
	message = terminationLog(t)
	box = startRunc(t, Bundle{
		Args:     slices.Concat(c.Command, c.Args),
		Env:      env,
		Binds:    map[string]string{"/busybox": pathOf(t, "busybox")},
		Writable: map[string]string{"/dev/termination-log": message},
		Loopback: true,
	})
	box.waitOut(`^ready`)
	return box, message
}

// url is where a probe asks, from inside the pod.
func (c podContainer) url(p probe) string {
	return fmt.Sprintf("http://127.0.0.1:%d%s", c.Ports[0].ContainerPort, p.HTTPGet.Path)
}

// wantProbe checks whether a probe of the manifest succeeds.
func (c runcContainer) wantProbe(p podContainer, of probe, want bool) {
	c.t.Helper()
	command := of.Exec.Command
	if of.HTTPGet.Path != "" {
		command = []string{"/busybox", "wget", "-q", "-O", "-", p.url(of)}
	}
	ran := c.exec(command...)
	if got := ran.wait() == 0; got != want {
		c.t.Errorf("%q: success %v, want %v\n%s%s", command, got, want, ran.out(), ran.err())
	}
}

// The end of a pod: the hook, and TERM when it has come back.
func TestDeploymentAsAKubeletRunsIt(t *testing.T) {
	t.Parallel()
	_, p := readManifest(t, "platform/deployment.yaml")
	box, message := startPod(t, p)
	box.wantProbe(p, p.ReadinessProbe, true)
	box.wantProbe(p, p.LivenessProbe, true)

	began := time.Now()
	hook := box.exec(p.Lifecycle.PreStop.Exec.Command...)
	box.waitOut(`^got SIGTSTP`)
	box.wantProbe(p, p.ReadinessProbe, false)
	box.wantProbe(p, p.LivenessProbe, true)
	hook.wantExit(0)
	wantTook(t, began, 5*time.Second, patience)
	box.wantGots("got SIGTSTP")

	box.kill("TERM")
	box.waitOut(`^got SIGTERM`)
	box.wantProbe(p, p.ReadinessProbe, false)
	box.wantProbe(p, p.LivenessProbe, true)
	box.wantExit(0)
	box.wantGots("got SIGTSTP", "got SIGTERM")
	box.wantCount("drained", 1)
	box.wantLogged(`what still runs after 1m20s`, 1)
	box.wantLogged(killLine, 0)
	wantMessage(t, message, `^$`)
	box.wantNothingLeft()
}

func TestJobAsAKubeletRunsIt(t *testing.T) {
	t.Parallel()
	_, p := readManifest(t, "platform/job.yaml")
	box, message := startPod(t, p)
	box.wantProbe(p, p.LivenessProbe, true)
	box.kill("TERM")
	box.waitOut(`^got SIGTERM`)
	box.wantProbe(p, p.LivenessProbe, true)
	box.wantExit(1) // the task's own: not done
	box.wantLogged(`what still runs after 1m`, 1)
	wantMessage(t, message, `^$`)
	box.wantNothingLeft()
}

// The pods of the manifests under podman. It knows nothing of a hook, of
// readiness, of the time to stop, nor of the kinds that make pods of a template,
// and would publish their ports on this machine: those are left out.
func TestPodmanKubePlay(t *testing.T) {
	t.Parallel()
	need(t, "catatonit") // podman makes the pause container of it
	e := startPodman(t, "")
	for file, status := range map[string]int{"platform/deployment.yaml": 0, "platform/job.yaml": 1} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			e := e
			e.t = t
			e.playAndStop(file, status)
		})
	}
}

func (e podman) playAndStop(file string, status int) {
	e.t.Helper()
	_, c := readManifest(e.t, file)
	name := e.play(file) + "-" + c.Name
	e.wantLogs(name, `^ready`, 1)
	e.wantStatus(name, "running")
	e.wantStrict(name)
	if c.Ports != nil {
		e.wantHTTP(name, c, "running")
	}
	if quiet := e.exec(name, "/drainit", "quiet"); quiet.status != 0 {
		e.t.Errorf("the verb quiet: %+v", quiet)
	}
	e.wantStatus(name, "quiet")
	if out, err := e.command("stop", name).CombinedOutput(); err != nil { // complains again
		e.t.Fatalf("podman stop: %v\n%s", err, out)
	}
	e.wantEnded(name, status)
	e.wantLogs(name, `^drained$`, 1)
}

// play makes a pod of a manifest's template, without a network; it has the
// manifest's name.
func (e podman) play(file string) (name string) {
	e.t.Helper()
	var m struct {
		Metadata object
		Spec     struct{ Template struct{ Spec object } }
	}
	if err := json.Unmarshal(asJSON(e.t, file), &m); err != nil {
		e.t.Fatal(err)
	}
	pod := m.Spec.Template.Spec
	delete(pod["containers"].([]any)[0].(object), "ports")
	text, err := json.Marshal(object{"apiVersion": "v1", "kind": "Pod", "metadata": m.Metadata, "spec": pod})
	if err != nil {
		e.t.Fatal(err)
	}
	path := filepath.Join(e.dir, filepath.Base(file))
	if err := os.WriteFile(path, text, 0o644); err != nil {
		e.t.Fatal(err)
	}
	play := e.command("kube", "play", "--network", "none", path)
	play.Dir = e.dir // it would build an image from a folder of that name
	// It complains that there is no systemd to call a liveness probe.
	if out, err := play.CombinedOutput(); err != nil {
		e.t.Fatalf("podman kube play %s: %v\n%s", file, err, out)
	}
	return m.Metadata["name"].(string)
}

// wantStrict checks that PID 1 has what the securityContexts ask for.
func (e podman) wantStrict(name string) {
	e.t.Helper()
	status := e.exec(name, "/bin/busybox", "cat", "/proc/1/status").out
	for _, want := range []string{`Uid:\t65532\t`, `CapEff:\t0+$`, `CapBnd:\t0+$`, `NoNewPrivs:\t1$`, `Seccomp:\t2$`} {
		if !regexp.MustCompile("(?m)^" + want).MatchString(status) {
			e.t.Errorf("%s: not %q:\n%s", name, want, status)
		}
	}
	if touch := e.exec(name, "/bin/busybox", "touch", "/file"); !strings.Contains(touch.err, "Read-only file system") {
		e.t.Errorf("%s: the root can be written: %+v", name, touch)
	}
}

// wantHTTP checks that readiness and liveness are answered.
func (e podman) wantHTTP(name string, c podContainer, body string) {
	e.t.Helper()
	for _, probe := range []probe{c.ReadinessProbe, c.LivenessProbe} {
		if got := e.exec(name, "/bin/busybox", "wget", "-q", "-O", "-", c.url(probe)); strings.TrimSpace(got.out) != body {
			e.t.Errorf("%s: %s says %+v", name, c.url(probe), got)
		}
	}
}
