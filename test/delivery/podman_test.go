package delivery

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// crun, which podman takes by default, does not run on every machine that runc runs on.
const podmanConf = `
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=32768:32768"]
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
runtime = "runc"
`

// podman loads either tar, and takes this machine's image of the one with all.
func TestPodmanLoadsTheImage(t *testing.T) {
	for _, file := range []string{"drainit-image-linux-" + arches()[0] + ".tar", "drainit-oci.tar"} {
		p := startPodman(t)
		ref := reference(t)
		if out := p.do("load", "--quiet", "--input", filepath.Join(release(t), file)); !strings.HasSuffix(out, ": "+ref) {
			t.Errorf("%s is loaded as something else: %s", file, out)
		}
		got := p.do("run", "--rm", "--pull", "never", "--network", "host", "--cgroup-parent", p.cgroup(), ref, "--version")
		if !strings.HasPrefix(got, "drainit v"+version(t)+" ") {
			t.Errorf("%s: the image says %q", file, got)
		}
		dockerfile := filepath.Join(p.dir, "Dockerfile")
		if err := os.WriteFile(dockerfile, []byte("FROM scratch\nCOPY --from="+ref+" /drainit /init\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		p.do("build", "--quiet", "--network", "host", "--tag", "other", "--file", dockerfile, t.TempDir())
		if size := p.do("image", "inspect", "--format", "{{.Os}} {{len .RootFS.Layers}}", "other"); size != "linux 1" {
			t.Errorf("%s: what is copied from the image makes %s", file, size)
		}
	}
}

// podman is podman with a store and settings of its own.
type podman struct {
	t   *testing.T
	dir string
}

func startPodman(t *testing.T) podman {
	t.Helper()
	need(t, "podman", "conmon", "runc")
	if os.Getuid() != 0 {
		skip(t, "needs root, for podman with runc")
	}
	dir, err := os.MkdirTemp("", "podman-") // podman wants short names
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "containers.conf"), []byte(podmanConf), 0o644); err != nil {
		t.Fatal(err)
	}
	p := podman{t, dir}
	t.Cleanup(p.end)
	return p
}

func (p podman) do(args ...string) string {
	p.t.Helper()
	cmd := exec.Command("podman", append([]string{
		"--root", p.dir + "/root", "--runroot", p.dir + "/run", "--tmpdir", p.dir + "/tmp", "--storage-driver", "vfs"}, args...)...)
	cmd.Env = append(os.Environ(), "CONTAINERS_CONF="+p.dir+"/containers.conf")
	return output(p.t, cmd)
}

// cgroup is above those of the containers.
func (p podman) cgroup() string { return "/" + filepath.Base(p.dir) }

func (p podman) end() {
	p.do("rm", "--force", "--all", "--time", "0")
	p.endCgroups()
	if err := os.RemoveAll(p.dir); err != nil {
		p.t.Error(err)
	}
}

// endCgroups removes those of the containers, in each hierarchy that has them, once no
// process is in them any more.
func (p podman) endCgroups() {
	for _, hierarchy := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*"} {
		for _, below := range []string{"/*", ""} {
			dirs, _ := filepath.Glob(hierarchy + p.cgroup() + below) // fails for a bad pattern only
			for _, dir := range dirs {
				if err := waitFor("the end of "+dir, func() error {
					err := syscall.Rmdir(dir)
					if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // a cgroup's file
						return nil
					}
					return err
				}); err != nil {
					p.t.Error(err)
				}
			}
		}
	}
}
