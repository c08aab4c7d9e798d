package platform

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"drainit/test/harness"
)

// engine runs containers: Docker, or podman, whose commands are the same.
type engine struct {
	client func(args ...string) *exec.Cmd
	run    func(t *testing.T, flags []string, command ...string) (p *harness.Init, name string)
}

func docker(t *testing.T) engine {
	d := harness.Docker(t)
	return engine{d.Client, func(t *testing.T, flags []string, command ...string) (*harness.Init, string) {
		c := d.RunImage(t, "base", flags, command...)
		return c.Init, c.Name
	}}
}

func podman(e harness.Podman) engine {
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

// life is what a person or a script does with an engine's commands to a container that has drainit
// as its first process.
type life struct {
	name, flags     string // of the engine
	drainit, worker string // flags of drainit and of `worker listen`
	steps           string
	status          int
	gots            string        // what the worker got, or empty if that is not the same everywhere
	logged          string        // drainit's line
	atLeast         time.Duration // how long the steps take
}

var quietAndBack = life{"quiet and back", "", "", "-catch TSTP,CONT,TERM,USR1 -end USR1",
	"kill TSTP, got SIGTSTP, status quiet, kill CONT, got SIGCONT, status running, kill TERM, got SIGTERM, status draining, kill USR1",
	0, "got SIGTSTP, got SIGCONT, got SIGTERM, got SIGUSR1", `stopped after`, 0}

var lives = []life{
	quietAndBack,
	{"stop", "", "", "-catch all -drain 300ms -exit 3", "stop", 3, "got SIGTERM", `exited with status 3`, 0},
	{"stop twice", "", "", "-drain 1h", "kill TERM, got SIGTERM, later, stop", 137, "got SIGTERM", `second stop signal, force-stop: killing worker`, 0},
	{"a pause in a drain", "", "", "-catch TERM,USR1 -end USR1", "kill TERM, got SIGTERM, pause, unpause, kill USR1",
		0, "got SIGTERM, got SIGUSR1", `stopped after`, 0},
	// The engine kills, and only the first line of the drain can say what was wrong.
	{"a stop shorter than the grace", "", "", "-drain 1h", "stop", 137, "got SIGTERM", `what still runs after 35s is killed`, 9 * time.Second},
	{"a stop longer than the grace", "", "--grace 1s", "-drain 1h", "stop", 137, "got SIGTERM", `grace period of 1s over: killing worker`, time.Second},
	{"in the host's namespace", "--pid host", "", "-catch TSTP,TERM", "drainit quiet, got SIGTSTP, status quiet, kill TERM",
		0, "got SIGTSTP, got SIGTERM", `stopped after`, 0},
	// There podman stop signals each process by itself.
	{"stop in the host's namespace", "--pid host", "", "-drain 300ms", "stop", 0, "", `stopped after`, 0},
}

func (l life) run(t *testing.T, e engine) {
	t.Parallel()
	command := append([]string{"/drainit"}, strings.Fields(l.drainit)...)
	command = append(append(command, "--", "/worker", "listen"), strings.Fields(l.worker)...)
	p, name := e.run(t, strings.Fields(l.flags), command...)
	p.WaitOut(`^ready`)
	began := time.Now()
	e.take(t, p, name, l.steps)
	harness.WantTookAtLeast(t, began, l.atLeast)
	p.WantExit(l.status)
	if l.gots != "" {
		p.WantGots(strings.Split(l.gots, ", ")...)
	}
	p.WantCount("drained", map[bool]int{true: 0, false: 1}[l.status == 137])
	p.WantLogged(l.logged, 1)
	if !strings.Contains(l.logged, "killing ") {
		p.WantLogged(harness.KillLine, 0)
	}
}

func TestDocker(t *testing.T) {
	t.Parallel()
	e := docker(t)
	for _, l := range lives {
		t.Run(l.name, func(t *testing.T) { l.run(t, e) })
	}
}

func TestPodman(t *testing.T) {
	t.Parallel()
	e := podman(harness.StartPodman(t, 0, "", ""))
	for _, l := range lives {
		t.Run(l.name, func(t *testing.T) { l.run(t, e) })
	}
}
