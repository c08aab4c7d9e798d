package delivery

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"drainit/test/harness"
)

// A Docker engine loads the image of one architecture, and the containerd below it the one
// with all, as a Docker with containerd's image store does.
func TestDockerLoadsTheImage(t *testing.T) {
	d := harness.Docker(t)
	loads(t, d, filepath.Join(release(t), "drainit-image-linux-"+arches()[0]+".tar"))
	t.Run("containerd", func(t *testing.T) { containerdLoads(t, d) })
}

func containerdLoads(t *testing.T, d *harness.Dockerd) {
	t.Helper()
	harness.Need(t, "ctr")
	for _, file := range []string{"drainit-image-linux-" + arches()[0] + ".tar", "drainit-oci.tar"} {
		ctr := func(args ...string) string {
			return do(t, release(t), append([]string{"ctr", "--address", d.Containerd(), "--namespace", file}, args...)...)
		}
		ctr("images", "import", file)
		if got := ctr("images", "list", "--quiet"); got != reference(t) {
			t.Errorf("%s is loaded as %s", file, got)
		}
		if got := ctr("images", "check"); !strings.Contains(got, " complete (2/2) ") {
			t.Errorf("%s is not complete:\n%s", file, got)
		}
		ctr("images", "remove", "--sync", reference(t))
	}
}

// loads loads an image, runs it, and copies drainit from it into another.
func loads(t *testing.T, d *harness.Dockerd, file string) {
	t.Helper()
	ref := reference(t)
	if out := d.Do(t, "load", "--input", file); !strings.Contains(out, "Loaded image: "+ref) {
		t.Errorf("%s is loaded as something else: %s", file, out)
	}
	if got := d.Do(t, "image", "inspect", "--format", "{{.Os}}/{{.Architecture}} {{.Config.Entrypoint}}", ref); got != "linux/"+runtime.GOARCH+" [/drainit]" {
		t.Errorf("%s is %s", file, got)
	}
	build := d.Client("build", "--network", "none", "--tag", "other", "-")
	build.Stdin = strings.NewReader("FROM scratch\nCOPY --from=" + ref + " /drainit /init\nENTRYPOINT [\"/init\", \"--\", \"/init\"]\n")
	harness.OutputOf(t, build)
	for _, image := range []string{ref, "other"} {
		got := d.Do(t, "run", "--rm", "--network", "none", image, "--version")
		if !strings.HasPrefix(got, "drainit v"+version(t)+" ") {
			t.Errorf("%s: %s says %q", file, image, got)
		}
	}
	d.Do(t, "image", "rm", "other", ref)
}
