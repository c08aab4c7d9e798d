package platform

import (
	"path/filepath"
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
