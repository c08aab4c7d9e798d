package delivery

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"drainit/test/harness"
)

// podman loads either tar, and takes this machine's image of the one with all.
func TestPodmanLoadsTheImage(t *testing.T) {
	for _, file := range []string{"drainit-image-linux-" + arches()[0] + ".tar", "drainit-oci.tar"} {
		p := harness.StartPodman(t, "")
		ref := reference(t)
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
		if size := p.Ask("image", "inspect", "--format", "{{.Os}} {{len .RootFS.Layers}}", "other"); size != "linux 1" {
			t.Errorf("%s: what is copied from the image makes %s", file, size)
		}
	}
}
