package platform

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"drainit/test/harness"
)

// composeOverride is what the tests change in the file to copy: no network, a
// health that is looked at soon, jobs that show whose time was kept, and a
// service with Compose's own ten seconds.
const composeOverride = `
services:
  worker:
    image: base
    network_mode: none
    command: ["/worker", "listen", "-catch", "TERM,TSTP", "-drain", "15s"]
    healthcheck: {interval: 1s}
  web: {image: base, network_mode: none}
  console: {image: base, network_mode: none}
  short:
    image: base
    network_mode: none
    entrypoint: ["/drainit", "--"]
    command: ["/worker", "listen", "-drain", "1h"]
`

// project is a running Compose project.
type project struct {
	engine
	t     *testing.T
	flags []string
	env   []string
}

// compose runs a docker-compose command that must succeed.
func (p project) compose(args ...string) {
	p.t.Helper()
	cmd := exec.Command("docker-compose", append(slices.Clone(p.flags), args...)...)
	cmd.Env = append(os.Environ(), p.env...)
	harness.OutputOf(p.t, cmd)
}

// id is the container of a service; the two Composes give it other names.
func (p project) id(service string) string {
	p.t.Helper()
	return p.do(p.t, "ps", "--all", "--quiet", "--filter", "label=com.docker.compose.service="+service)
}

// inspect is what docker inspect knows of a service's container.
func (p project) inspect(service, what string) string {
	p.t.Helper()
	return p.do(p.t, "inspect", "--format", "{{"+what+"}}", p.id(service))
}

// log is all that a service has printed.
func (p project) log(service string) string {
	p.t.Helper()
	out, err := p.client("logs", p.id(service)).CombinedOutput()
	if err != nil {
		p.t.Fatal(err)
	}
	return string(out)
}

func TestDockerCompose(t *testing.T) {
	t.Parallel()
	harness.Need(t, "docker-compose")
	override := filepath.Join(t.TempDir(), "override.yaml")
	harness.WriteFile(t, override, []byte(composeOverride))
	p := project{docker(t), t, []string{"--project-name", "test", "--file", "compose.yaml", "--file", override}, harness.Docker(t).Env()}
	t.Cleanup(func() { p.compose("down", "--timeout", "0") })
	p.compose("up", "--detach")
	services := map[string]struct {
		status string
		wants  []string // of its log, in any order
	}{
		"worker":  {"0", []string{"\ngot SIGTSTP\n", "\ngot SIGTERM\n", "\ndrained\n", "what still runs after 1m20s"}},
		"web":     {"0", []string{"\ngot SIGQUIT\n", "\ndrained\n", "what still runs after 20s"}},
		"console": {"0", []string{"\r\ndrained\r\ndrainit: stopped after "}},
		"short":   {"137", []string{"\ngot SIGTERM\n", "what still runs after 35s is killed"}},
	}
	for service := range services {
		harness.WaitUntil(t, service+" is ready", func() bool { return strings.Contains(p.log(service), "ready ") })
	}
	healthy := func() bool { return p.inspect("worker", ".State.Health.Status") == "healthy" }
	harness.WaitUntil(t, "the worker is healthy", healthy)
	p.compose("kill", "-s", "TSTP", "worker")
	harness.WaitUntil(t, "the worker is quiet", func() bool { return strings.Contains(p.log("worker"), "got SIGTSTP") })
	p.wantStatus(t, p.id("worker"), "quiet")
	if !healthy() {
		t.Error("the worker is no longer healthy")
	}

	began := time.Now()
	p.compose("stop")
	harness.WantTookAtLeast(t, began, 15*time.Second)
	if short, worker := p.inspect("short", ".State.FinishedAt"), p.inspect("worker", ".State.FinishedAt"); short > worker { // UTC, RFC 3339
		t.Errorf("Compose's own ten seconds were over at %s, and the fifteen of a longer job at %s", short, worker)
	}
	for service, want := range services {
		log, status := p.log(service), p.inspect(service, ".State.ExitCode")
		if status != want.status || slices.ContainsFunc(want.wants, func(line string) bool { return strings.Count(log, line) != 1 }) {
			t.Errorf("%s: exit status %s, want %s and %q:\n%s", service, status, want.status, want.wants, log)
		}
	}
}
