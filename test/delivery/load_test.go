package delivery

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"drainit/test/harness"
)

// reference is the name of the loaded image.
func reference(t *testing.T) string {
	t.Helper()
	return "localhost/drainit:" + strings.ReplaceAll(version(t), "+", "-")
}

// imageTars are the one of this machine's architecture and the one with all.
func imageTars() []string {
	return []string{"drainit-image-linux-" + arches()[0] + ".tar", "drainit-oci.tar"}
}

// A Docker engine loads the image of one architecture, runs it, and copies drainit from it into
// another. The containerd below it loads the one with all as well, as a Docker with containerd's
// image store does.
func TestDockerLoadsTheImage(t *testing.T) {
	d, ref := harness.Docker(t), reference(t)
	if out := d.Do(t, "load", "--input", filepath.Join(release(t), imageTars()[0])); !strings.Contains(out, "Loaded image: "+ref) {
		t.Errorf("it is loaded as something else: %s", out)
	}
	if got := d.Do(t, "image", "inspect", "--format", "{{.Os}}/{{.Architecture}} {{.Config.Entrypoint}}", ref); got != "linux/"+runtime.GOARCH+" [/drainit]" {
		t.Errorf("it is %s", got)
	}
	build := d.Client("build", "--network", "none", "--tag", "other", "-")
	build.Stdin = strings.NewReader("FROM scratch\nCOPY --from=" + ref + " /drainit /init\nENTRYPOINT [\"/init\", \"--\", \"/init\"]\n")
	harness.OutputOf(t, build)
	for _, image := range []string{ref, "other"} {
		if got := d.Do(t, "run", "--rm", "--network", "none", image, "--version"); !strings.HasPrefix(got, "drainit v"+version(t)+" ") {
			t.Errorf("%s says %q", image, got)
		}
	}
	t.Run("containerd", func(t *testing.T) {
		harness.Need(t, "ctr")
		for _, file := range imageTars() {
			ctr := func(args ...string) string {
				return do(t, release(t), append([]string{"ctr", "--address", d.Containerd(), "--namespace", file}, args...)...)
			}
			ctr("images", "import", file)
			if got := ctr("images", "list", "--quiet"); got != ref {
				t.Errorf("%s is loaded as %s", file, got)
			}
			if got := ctr("images", "check"); !strings.Contains(got, " complete (2/2) ") {
				t.Errorf("%s is not complete:\n%s", file, got)
			}
			ctr("images", "remove", "--sync", ref)
		}
	})
}

// podman loads either tar, and takes this machine's image of the one with all.
func TestPodmanLoadsTheImage(t *testing.T) {
	for _, file := range imageTars() {
		p, ref := harness.StartPodman(t, 0, "", ""), reference(t)
		if out := p.Ask("load", "--quiet", "--input", filepath.Join(release(t), file)); !strings.HasSuffix(out, ": "+ref) {
			t.Errorf("%s is loaded as something else: %s", file, out)
		}
		got := p.Ask("run", "--rm", "--pull", "never", "--network", "host", "--cgroup-parent", p.Cgroup(), ref, "--version")
		if !strings.HasPrefix(got, "drainit v"+version(t)+" ") {
			t.Errorf("%s: the image says %q", file, got)
		}
		dockerfile := filepath.Join(p.Dir, "Dockerfile")
		if err := os.WriteFile(dockerfile, []byte("FROM scratch\nCOPY --from="+ref+" /drainit /init\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		p.Ask("build", "--quiet", "--network", "host", "--tag", "other", "--file", dockerfile, t.TempDir())
	}
}
