// Package platform tests real platforms: Docker, Compose, Podman, a kubelet's calls of runc, and systemd.
package platform

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/engines"
	"drainit/test/harness/rows"
)

// engine runs containers: Docker, or podman, whose commands are the same.
type engine struct {
	client func(args ...string) *exec.Cmd
	run    func(t *testing.T, flags []string, command ...string) (p *harness.Init, name string)
}

func docker(t *testing.T) engine {
	d := engines.Docker(t)
	return engine{d.Client, func(t *testing.T, flags []string, command ...string) (*harness.Init, string) {
		c := d.Run(t, "base", flags, command...)
		return c.Init, c.Name
	}}
}

func podman(e engines.Podman) engine {
	return engine{e.Command, func(t *testing.T, flags []string, command ...string) (*harness.Init, string) {
		e := e
		e.T = t
		name := strings.ToLower(strings.NewReplacer("/", "-", "'", "", ",", "").Replace(t.Name()))
		return e.Run(name, flags, command...), name
	}}
}

// do runs a command of the engine that must succeed.
func (e engine) do(t *testing.T, args ...string) string {
	t.Helper()
	return harness.OutputOf(t, e.client(args...))
}

// wantStatus checks the phase that the verb shows from inside a container.
func (e engine) wantStatus(t *testing.T, name, phase string) {
	t.Helper()
	if got := e.do(t, "exec", name, "/drainit", "status"); !strings.HasPrefix(got, phase+": drainit[") {
		t.Errorf("the status of %s is %q, want %s", name, got, phase)
	}
}

// take does the steps of a life: a command of the engine, a verb in the container, a signal, the
// wait for a line of the worker's, a look at the status.
func (e engine) take(t *testing.T, p *harness.Init, name, steps string) {
	t.Helper()
	for step := range strings.SplitSeq(steps, ", ") {
		verb, rest, _ := strings.Cut(step, " ")
		switch verb {
		case "got":
			p.WaitOut("^" + step)
		case "later":
			harness.PastTheSameRequest()
		case "status":
			e.wantStatus(t, name, rest)
		case "drainit":
			e.do(t, "exec", name, "/drainit", rest)
		case "kill":
			e.do(t, "kill", "--signal", rest, name)
		default:
			e.do(t, verb, name)
		}
	}
}

// life is a row of the lives of a container.
type life []string

func lives(t *testing.T) (all []life) {
	t.Helper()
	for _, row := range rows.Read(t, "testdata/lives.tsv", 9) {
		all = append(all, row)
	}
	return all
}

func (l life) run(t *testing.T, e engine) {
	t.Parallel()
	flags, drainit, worker, steps, gots, logged := l[1], l[2], l[3], l[4], l[7], l[8]
	p, name := e.run(t, strings.Fields(flags),
		strings.Fields("/drainit "+drainit+" -- /worker listen "+worker)...)
	p.WaitOut(`^ready`)
	began := time.Now()
	e.take(t, p, name, steps)
	atLeast, err := time.ParseDuration(l[6])
	harness.Must(t, err)
	status := harness.Number(t, l[5])
	harness.WantTookAtLeast(t, began, atLeast)
	p.WantExit(status)
	if gots != "" {
		p.WantGots(strings.Split(gots, ", ")...)
	}
	p.WantCount("drained", map[bool]int{true: 0, false: 1}[status == 137])
	p.WantLogged(logged, 1)
	if !strings.Contains(logged, "killing ") {
		p.WantLogged(harness.KillLine, 0)
	}
}

func TestDocker(t *testing.T) {
	t.Parallel()
	e := docker(t)
	for _, l := range lives(t) {
		t.Run(l[0], func(t *testing.T) { l.run(t, e) })
	}
}

func TestPodman(t *testing.T) {
	t.Parallel()
	e := podman(engines.StartPodman(t, 0, "", ""))
	for _, l := range lives(t) {
		t.Run(l[0], func(t *testing.T) { l.run(t, e) })
	}
}

func TestMain(m *testing.M) { harness.Main(m) }

// A user's own podman: root in the container is that user, and may do no more than he.
func TestPodmanRootless(t *testing.T) {
	all := lives(t)
	quiet := slices.IndexFunc(all, func(l life) bool { return l[0] == "quiet and back" })
	all[quiet].run(t, podman(engines.StartPodman(t, harness.OwnUID(), "", "")))
}

// In place of catatonit: podman calls it as `/run/podman-init -- COMMAND`. What a program prints is
// all that comes out of its container until the stop.
func TestPodmanInit(t *testing.T) {
	t.Parallel()
	e := engines.StartPodman(t, 0, "init_path = \""+harness.DrainitBin+"\"", "")
	e.Ask("info") // has nothing to complain of
	silent := engines.StartPodman(t, 0, "", "").
		Run("silent", []string{"--init", "--init-path", harness.DrainitBin}, "/bin/busybox", "echo", "motto")
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
				harness.Must(t, unix.Symlink(harness.DrainitBin, helpers+"/catatonit"))
				engine = "helper_binaries_dir = [\"" + helpers + "\"]"
			}
			runPod(t, engines.StartPodman(t, 0, "", engine), pause == "drainit")
		})
	}
}

func runPod(t *testing.T, e engines.Podman, pausedByDrainit bool) {
	t.Helper()
	e.Ask("pod", "create", "--name", "pod", "--share", "pid,net", "--network", "host",
		"--cgroup-parent", e.Cgroup())
	workers := make(map[string]*harness.Init)
	for _, name := range []string{"one", "two"} {
		workers[name] = harness.Run(t, harness.Launch{Cmd: func(marker string) *exec.Cmd {
			return e.Command("run", "--pod", "pod", "--name", name, "--env", marker, engines.Image,
				"/drainit", "--", "/worker", "listen", "-name", name+" ", "-catch", "TSTP,TERM",
				"-drain", "300ms")
		}})
		workers[name].WaitOut(`^` + name + ` ready`)
	}
	e.Ask("run", "--detach", "--pod", "pod", "--name", "bare", engines.Image, "/worker", "listen")
	infra := e.Ask("pod", "inspect", "--format", "{{.InfraContainerID}}", "pod")
	if pausedByDrainit {
		pid := harness.Number(t, e.Ask("inspect", "--format", "{{.State.Pid}}", infra))
		harness.WaitUntil(t, "drainit pauses", func() bool { return harness.Comm(pid) == "drainit:pause" })
	}
	verb := func(name string, status int, answer string, args ...string) {
		t.Helper()
		if got := e.Exec(append([]string{name, "/drainit"}, args...)...); got.Status != status ||
			!strings.HasPrefix(got.Out+got.Err, answer) {
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
