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
	"drainit/test/harness/engines"
)

// Dockerfile.example is built from this folder, as from a clone, and its container run
// and stopped; then the README's own Dockerfile, with what the first build has compiled.
func TestDockerBuildsTheDockerfiles(t *testing.T) {
	t.Parallel()
	d := engines.Docker(t)
	harness.Need(t, "go", "node", "ldd")
	d.ImportGo(t)
	build := []string{"build", "--network", "none"}
	for _, args := range [][]string{{"--tag", "worker"}, {"--tag", "golang:1.26", "--target", "build"}} {
		cmd := d.Client(append(append(build, "--file", "Dockerfile.example"), append(args, ".")...)...)
		cmd.Dir = harness.Repo()
		harness.OutputOf(t, cmd)
	}
	t.Run("Dockerfile.example", func(t *testing.T) {
		c := d.Run(t, "worker", nil)
		c.WaitOut(`^ready`)
		c.Do("stop", "--time", "40")
		c.WantExit(0)
		wantLast(c.Init, "got SIGTERM", "drained")
	})
	t.Run("the README's", func(t *testing.T) { buildReadme(t, d, build) })
}

// buildReadme builds the Dockerfile of the README around a worker in Node, with a node:22-slim of
// this machine's Node, of whichever version.
func buildReadme(t *testing.T, d *engines.Dockerd, build []string) {
	t.Helper()
	d.ImportImage(t, "node:22-slim", nil, func(r *engines.Rootfs) {
		r.Busybox()
		r.Program("node")
		r.Text("/etc/passwd", "root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n")
	})
	dockerfile := harness.PageBlock(t, harness.Repo("README.md"), "Install", "Dockerfile")
	engines.Feed(t, d.Client(append(build, "--tag", "readme", "-")...), func(r *engines.Rootfs) {
		r.Text("Dockerfile", dockerfile)
		r.Text("worker.js",
			`process.on('SIGTERM', () => { console.log('got SIGTERM'); setTimeout(() => process.exit(7), `+
				`300); });
			setInterval(() => {}, 1000);
			console.log('ready', process.getuid());`)
		for _, source := range harness.Sources {
			r.Tree("drainit/"+source, harness.Repo(source))
		}
	})
	c := d.Run(t, "readme", nil)
	c.WaitOut(`^ready 1000`)
	c.Do("stop", "--time", "35")
	c.WantExit(7)
	c.WaitErr(`what still runs after 25s`)
}

// The Dockerfiles of docs/images.md, each with the worker below it, run with the programs of this
// machine. The images that they name have only the programs that building takes.
func TestDockerBuildsTheImagesOfThePage(t *testing.T) {
	t.Parallel()
	harness.Need(t, "node", "python3", "java", "php", "ruby")
	d, page := engines.Docker(t), harness.Repo("docs", "images.md")
	d.ImportImage(t, "drainit", nil, func(r *engines.Rootfs) { r.Copy("/drainit", harness.DrainitBin) })
	for section, worker := range map[string]string{
		"Node": "worker.js", "Python": "worker.py", "Java": "Worker.java", "PHP": "worker.php",
		"Ruby": "worker.rb", "Shell": "worker.sh",
	} {
		t.Run(section, func(t *testing.T) {
			t.Parallel()
			language, tag := strings.ToLower(section), "page-"+strings.ToLower(section)
			if section == "Node" || section == "Shell" {
				language = strings.TrimPrefix(filepath.Ext(worker), ".")
			}
			dockerfile := harness.PageBlock(t, page, section, "Dockerfile")
			file := filepath.Join(t.TempDir(), worker)
			harness.WriteFile(t, file, harness.PageBlock(t, page, section, language))
			if language == "java" {
				harness.Need(t, "javac", "jar")
				compile := exec.Command("sh", "-c",
					"javac -nowarn -d classes Worker.java && jar --create --file worker.jar --main-class "+
						"Worker -C classes .")
				compile.Dir, file = filepath.Dir(file), filepath.Join(filepath.Dir(file), "worker.jar")
				harness.OutputOf(t, compile)
			}
			d.ImportImage(t, strings.Fields(dockerfile)[1], nil, func(r *engines.Rootfs) {
				r.Busybox()
				r.Link("lib", "usr/lib")
				r.Link("lib64", "usr/lib64")
				r.Text("/etc/passwd", "nobody:x:65534:65534::/:/bin/sh\n")
				r.Text("/usr/bin/docker-php-ext-install", "#!/bin/sh\n")
			})
			engines.Feed(t, d.Client("build", "--network", "none", "--tag", tag, "-"),
				func(r *engines.Rootfs) {
					r.Text("Dockerfile", dockerfile)
					r.Copy(filepath.Base(file), file)
				})
			c := d.Run(t, tag, harness.Words("--volume /usr:/usr:ro --volume /etc:/etc:ro"))
			c.WaitOut(`^working`)
			c.Do("stop", "--time", "40")
			c.WantExit(0)
			wantLast(c.Init, "drained")
		})
	}
}

// nginx under the stop signal of its image, whose entrypoint is a script as the official one's is:
// nginx.Dockerfile is built upon it. test/workers shows what a download in flight comes to.
func TestDockerStopSignalOfAnImage(t *testing.T) {
	t.Parallel()
	d := engines.Docker(t)
	harness.Need(t, "nginx", "ldd")
	d.ImportImage(t, "nginx", nil, func(r *engines.Rootfs) {
		r.Busybox()
		r.Program("nginx")
		r.Text("/docker-entrypoint.sh", "#!/bin/sh\nexec \"$@\"\n")
		r.Text("/etc/passwd", "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
		r.Text("/etc/group", "nogroup:x:65534:\n")
		r.Text("/etc/nginx/nginx.conf",
			"user nobody nogroup; pid /tmp/pid; error_log stderr notice; events { }\n"+
				"http { access_log off; client_body_temp_path /tmp/b; proxy_temp_path /tmp/p; "+
				"fastcgi_temp_path /tmp/f;\n"+
				"scgi_temp_path /tmp/s; uwsgi_temp_path /tmp/u; server { listen unix:/tmp/socket; } }\n")
		r.Text("/var/log/nginx/error.log", "")
		r.Text("/var/lib/nginx/keep", "")
	})
	d.ImportImage(t, "drainit", nil, func(r *engines.Rootfs) { r.Copy("/drainit", harness.DrainitBin) })
	engines.Feed(t, d.Client("build", "--network", "none", "--file", "nginx.Dockerfile", "--tag", "web", "-"),
		func(r *engines.Rootfs) {
			r.Copy("nginx.Dockerfile", "nginx.Dockerfile")
		})
	c := d.Run(t, "web", nil)
	c.WaitErr(`start worker process \d+`)
	c.Do("stop", "--time", "60")
	c.WantExit(0)
	c.WaitErr(`"msg":"stopping: SIGQUIT sent to nginx.*what still runs after 3[45][.\d]*s is ` +
		`killed.*"signal":"SIGQUIT"`)
	if got := strings.Count(c.Err(), "(SIGQUIT) received"); got != 1 {
		t.Errorf("nginx was signalled %d times:\n%s", got, c.Err())
	}
}

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
	harness.Must(p.t, err)
	return string(out)
}

func TestDockerCompose(t *testing.T) {
	t.Parallel()
	harness.Need(t, "docker-compose")
	override := filepath.Join(t.TempDir(), "override.yaml")
	harness.WriteFile(t, override, composeOverride)
	p := project{docker(t), t, []string{"--project-name", "test", "--file", "compose.yaml", "--file",
		override}, engines.Docker(t).Env()}
	t.Cleanup(func() { p.compose("down", "--timeout", "0") })
	p.compose("up", "--detach")
	services := map[string]struct {
		status string
		wants  []string // of its log, in any order
	}{
		"worker": {"0", []string{"\ngot SIGTSTP\n", "\ngot SIGTERM\n", "\ndrained\n",
			"what still runs after 1m20s"}},
		"web":     {"0", []string{"\ngot SIGQUIT\n", "\ndrained\n", "what still runs after 20s"}},
		"console": {"0", []string{"\r\ndrained\r\ndrainit: stopped after "}},
		"short":   {"137", []string{"\ngot SIGTERM\n", "what still runs after 35s is killed"}},
	}
	for service := range services {
		harness.WaitUntil(t, service+" is ready",
			func() bool { return strings.Contains(p.log(service), "ready ") })
	}
	healthy := func() bool { return p.inspect("worker", ".State.Health.Status") == "healthy" }
	harness.WaitUntil(t, "the worker is healthy", healthy)
	p.compose("kill", "-s", "TSTP", "worker")
	harness.WaitUntil(t, "the worker is quiet",
		func() bool { return strings.Contains(p.log("worker"), "got SIGTSTP") })
	p.wantStatus(t, p.id("worker"), "quiet")
	if !healthy() {
		t.Error("the worker is no longer healthy")
	}

	began := time.Now()
	p.compose("stop")
	harness.WantTookAtLeast(t, began, 15*time.Second)
	const at = ".State.FinishedAt" // UTC, RFC 3339
	if short, worker := p.inspect("short", at), p.inspect("worker", at); short > worker {
		t.Errorf("Compose's own ten seconds were over at %s, and the fifteen of a longer job at %s", short,
			worker)
	}
	for service, want := range services {
		log, status := p.log(service), p.inspect(service, ".State.ExitCode")
		if status != want.status || slices.ContainsFunc(want.wants,
			func(line string) bool { return strings.Count(log, line) != 1 }) {
			t.Errorf("%s: exit status %s, want %s and %q:\n%s", service, status, want.status, want.wants, log)
		}
	}
}
