package platform

import (
	"path/filepath"
	"strings"
	"testing"

	"drainit/test/harness"
)

// Dockerfile.example is built from this folder, as from a clone, and its container run
// and stopped; then the README's own Dockerfile, with what the first build has compiled.
func TestDockerBuildsTheDockerfiles(t *testing.T) {
	t.Parallel()
	d := harness.Docker(t)
	harness.Need(t, "go", "node", "ldd")
	if err := d.ImportGo(); err != nil {
		t.Fatal(err)
	}
	build := []string{"build", "--network", "none"}
	for _, args := range [][]string{{"--tag", "worker"}, {"--tag", "golang:1.26", "--target", "build"}} {
		cmd := d.Client(append(append(build, "--file", "Dockerfile.example"), append(args, ".")...)...)
		cmd.Dir = harness.Repo()
		harness.OutputOf(t, cmd)
	}
	t.Run("Dockerfile.example", func(t *testing.T) {
		c := d.RunImage(t, "worker", nil)
		c.WaitOut(`^ready`)
		c.Do("stop", "--time", "40")
		c.WantExit(0)
		wantLast(c.Init, "got SIGTERM", "drained")
	})
	t.Run("the README's", func(t *testing.T) { buildReadme(t, d, build) })
}

// buildReadme builds the Dockerfile of the README around a worker in Node, with a node:22-slim of
// this machine's Node, of whichever version.
func buildReadme(t *testing.T, d *harness.Dockerd, build []string) {
	t.Helper()
	if err := d.ImportImage("node:22-slim", nil, func(r *harness.Rootfs) {
		r.Busybox()
		r.Program("node")
		r.Text("/etc/passwd", "root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n")
	}); err != nil {
		t.Fatal(err)
	}
	dockerfile := harness.ReadmeBlock(t, "Install", "Dockerfile")
	if err := harness.Feed(d.Client(append(build, "--tag", "readme", "-")...), func(r *harness.Rootfs) {
		r.Text("Dockerfile", dockerfile)
		r.Text("worker.js", `process.on('SIGTERM', () => { console.log('got SIGTERM'); setTimeout(() => process.exit(7), 300); });
			setInterval(() => {}, 1000);
			console.log('ready', process.getuid());`)
		r.Tree("drainit", harness.Repo(), func(rel string) bool {
			return rel == ".git" || rel == "drainit" || filepath.Base(rel) == "node_modules"
		})
	}); err != nil {
		t.Fatal(err)
	}
	c := d.RunImage(t, "readme", nil)
	c.WaitOut(`^ready 1000`)
	c.Do("stop", "--time", "35")
	c.WantExit(7)
	c.WaitErr(`what still runs after 25s`)
}

// nginx under the stop signal of its image, whose entrypoint is a script as the official one's is:
// nginx.Dockerfile is built upon it. test/workers shows what a download in flight comes to.
func TestDockerStopSignalOfAnImage(t *testing.T) {
	t.Parallel()
	d := harness.Docker(t)
	harness.Need(t, "nginx", "ldd")
	err := d.ImportImage("nginx", nil, func(r *harness.Rootfs) {
		r.Busybox()
		r.Program("nginx")
		r.Text("/docker-entrypoint.sh", "#!/bin/sh\nexec \"$@\"\n")
		r.Text("/etc/passwd", "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
		r.Text("/etc/group", "nogroup:x:65534:\n")
		r.Text("/etc/nginx/nginx.conf", "user nobody nogroup; pid /tmp/pid; error_log stderr notice; events { }\n"+
			"http { access_log off; client_body_temp_path /tmp/b; proxy_temp_path /tmp/p; fastcgi_temp_path /tmp/f;\n"+
			"scgi_temp_path /tmp/s; uwsgi_temp_path /tmp/u; server { listen unix:/tmp/socket; } }\n")
		r.Text("/var/log/nginx/error.log", "")
		r.Text("/var/lib/nginx/keep", "")
	})
	if err == nil {
		err = d.ImportImage("drainit", nil, func(r *harness.Rootfs) { r.Copy("/drainit", harness.DrainitBin) })
	}
	if err == nil {
		err = harness.Feed(d.Client("build", "--network", "none", "--file", "nginx.Dockerfile", "--tag", "web", "-"), func(r *harness.Rootfs) {
			r.Copy("nginx.Dockerfile", "nginx.Dockerfile")
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	c := d.RunImage(t, "web", nil)
	c.WaitErr(`start worker process \d+`)
	c.Do("stop", "--time", "60")
	c.WantExit(0)
	c.WaitErr(`"msg":"stopping: SIGQUIT sent to nginx.*what still runs after 35s is killed.*"signal":"SIGQUIT"`)
	if got := strings.Count(c.Err(), "(SIGQUIT) received"); got != 1 {
		t.Errorf("nginx was signalled %d times:\n%s", got, c.Err())
	}
}
