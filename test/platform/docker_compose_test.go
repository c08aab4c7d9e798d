package platform

import (
	"os"
	"os/exec"
	"path/filepath"
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
	t     *testing.T
	d     *harness.Dockerd
	files []string
}

// do runs a docker-compose command that must succeed.
func (p project) do(args ...string) string {
	p.t.Helper()
	cmd := exec.Command("docker-compose", append(append([]string{"--project-name", "test"}, p.files...), args...)...)
	cmd.Env = append(os.Environ(), p.d.Env()...)
	return harness.OutputOf(p.t, cmd)
}

// id is the container of a service; the two Composes give it other names.
func (p project) id(service string) string {
	p.t.Helper()
	return p.d.Do(p.t, "ps", "--all", "--quiet", "--filter", "label=com.docker.compose.service="+service)
}

// inspect is what docker inspect knows of a service's container.
func (p project) inspect(service, what string) string {
	p.t.Helper()
	return p.d.Do(p.t, "inspect", "--format", "{{"+what+"}}", p.id(service))
}

// log is what a service has printed on standard output, and drainit's lines.
func (p project) log(service string) (out, err string) {
	p.t.Helper()
	r := p.d.Begin(p.t, "logs", p.id(service))
	r.WantExit(0)
	return r.Out(), r.Err()
}

func TestDockerCompose(t *testing.T) {
	t.Parallel()
	harness.Need(t, "docker-compose")
	override := filepath.Join(t.TempDir(), "override.yaml")
	harness.WriteFile(t, override, []byte(composeOverride))
	p := project{t, harness.Docker(t), []string{"--file", "compose.yaml", "--file", override}}
	t.Cleanup(func() { p.do("down", "--timeout", "0") })
	p.do("up", "--detach")
	for _, service := range []string{"worker", "web", "console", "short"} {
		harness.WaitUntil(t, service+" is ready", func() bool { out, _ := p.log(service); return strings.Contains(out, "ready ") })
	}
	healthy := func() bool { return p.inspect("worker", ".State.Health.Status") == "healthy" }
	harness.WaitUntil(t, "the worker is healthy", healthy)
	p.do("kill", "-s", "TSTP", "worker")
	harness.WaitUntil(t, "the worker is quiet", func() bool {
		return strings.Contains(p.d.Do(t, "exec", p.id("worker"), "/drainit", "status"), "quiet:")
	})
	if !healthy() {
		t.Error("the worker is not healthy any more")
	}

	begin := time.Now()
	p.do("stop")
	finished := func(service string) string { return p.inspect(service, ".State.FinishedAt") } // UTC, RFC 3339
	if short, worker := finished("short"), finished("worker"); short > worker {
		t.Errorf("Compose's own ten seconds were over at %s, and the fifteen of a longer job at %s", short, worker)
	}
	if took := time.Since(begin); took < 15*time.Second {
		t.Errorf("docker-compose stop took %v", took)
	}
	p.wantEnds()
}

// wantEnds checks how each service ended.
func (p project) wantEnds() {
	p.t.Helper()
	for service, want := range map[string]struct{ status, out, err string }{
		"worker":  {"0", "\ngot SIGTSTP\ngot SIGTERM\ndrained\n", "what still runs after 1m20s"},
		"web":     {"0", "\ngot SIGQUIT\ndrained\n", "what still runs after 20s"},
		"console": {"0", "\r\ndrained\r\ndrainit: stopped after ", ""},
		"short":   {"137", "\ngot SIGTERM\n", "what still runs after 30s is killed"},
	} {
		status := p.inspect(service, ".State.ExitCode")
		out, err := p.log(service)
		if status != want.status || !strings.Contains(out, want.out) || !strings.Contains(err, want.err) {
			p.t.Errorf("%s: exit status %s, want %s\n%s%s", service, status, want.status, out, err)
		}
	}
}
