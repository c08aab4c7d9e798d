package test

import (
	"path/filepath"
	"strings"
	"testing"
)

// Dockerfile.example is built from this folder, as from a clone, and its container run
// and stopped; then the README's own Dockerfile, with what the first build has compiled.
func TestDockerBuildsTheDockerfiles(t *testing.T) {
	t.Parallel()
	d := docker(t)
	need(t, "go", "node", "ldd")
	if err := d.importGo(); err != nil {
		t.Fatal(err)
	}
	build := []string{"build", "--network", "none"}
	for _, args := range [][]string{{"--tag", "worker"}, {"--tag", "golang:1.26", "--target", "build"}} {
		cmd := d.client(append(append(build, "--file", "Dockerfile.example"), append(args, ".")...)...)
		cmd.Dir = ".."
		outputOf(t, cmd)
	}
	t.Run("Dockerfile.example", func(t *testing.T) {
		c := d.runImage(t, "worker", nil)
		c.waitOut(`^ready`)
		c.do("stop", "--time", "40")
		c.wantExit(0)
		if got := c.out(); !strings.HasSuffix(got, "\ngot SIGTERM\ndrained\n") {
			t.Errorf("not signalled once, or not drained:\n%s", got)
		}
	})
	t.Run("the README's", func(t *testing.T) { d.buildReadme(t, build) })
}

// buildReadme builds the Dockerfile of the README around a worker in Node.
func (d *dockerd) buildReadme(t *testing.T, build []string) {
	t.Helper()
	if err := d.importNode(); err != nil {
		t.Fatal(err)
	}
	dockerfile := readmeBlock(t, "Install", "Dockerfile")
	if err := feed(d.client(append(build, "--tag", "readme", "-")...), func(r *rootfs) {
		r.text("Dockerfile", dockerfile)
		r.text("worker.js", `console.log('ready', process.getuid());
			setInterval(() => {}, 1000);
			process.on('SIGTERM', () => { console.log('got SIGTERM'); setTimeout(() => process.exit(7), 300); });`)
		r.tree("drainit", "..", func(rel string) bool {
			return rel == ".git" || rel == "drainit" || filepath.Base(rel) == "node_modules"
		})
	}); err != nil {
		t.Fatal(err)
	}
	c := d.runImage(t, "readme", nil)
	c.waitOut(`^ready 1000`)
	c.do("stop", "--time", "35")
	c.wantExit(7)
	c.waitErr(`what still runs after 25s`)
}

// importNode makes node:22-slim of this machine's Node, of whichever version.
func (d *dockerd) importNode() error {
	return d.importImage("node:22-slim", nil, func(r *rootfs) {
		r.busybox()
		r.program("node")
		r.text("/etc/passwd", "root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n")
	})
}
