package delivery

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The parts of the OCI image specification that the tests look at.
type descriptor struct {
	Digest      string
	Platform    platform
	Annotations map[string]string
}

type platform struct{ Architecture, OS, Variant string }

type manifest struct {
	Manifests, Layers []descriptor
	Config            descriptor
	Annotations       map[string]string
}

type config struct {
	platform
	Config struct {
		Entrypoint []string
		Labels     map[string]string
	}
}

// layout is an image layout of the shared release, whose types, digests and sizes the engines check when
// they load it.
type layout struct {
	t     *testing.T
	name  string
	files map[string]entry
}

func (l *layout) decode(file string, into any) {
	l.t.Helper()
	if err := json.Unmarshal(l.files[file].data, into); err != nil {
		l.t.Fatalf("%s: %v in %s", l.name, err, file)
	}
}

func blobOf(d descriptor) string { return "blobs/" + strings.Replace(d.Digest, ":", "/", 1) }

// image checks the image of an architecture.
func (l *layout) image(arch string, d descriptor) (m manifest) {
	l.t.Helper()
	var c config
	l.decode(blobOf(d), &m)
	l.decode(blobOf(m.Config), &c)
	if want := (platform{arch, "linux", map[string]string{"arm64": "v8",
		"arm": "v6"}[arch]}); d.Platform != want || c.platform != want {
		l.t.Errorf("%s: platforms %v and %v, want %v", l.name, d.Platform, c.platform, want)
	}
	if len(m.Layers) != 1 || !slices.Equal(c.Config.Entrypoint, []string{"/drainit"}) {
		l.t.Fatalf("%s: the manifest is %+v, the entrypoint %q", l.name, m, c.Config.Entrypoint)
	}
	files := untar(l.t, gunzip(l.t, l.files[blobOf(m.Layers[0])].data))
	if f := files["drainit"]; len(files) != 1 || f.mode != 0o755 ||
		!bytes.Equal(f.data, read(l.t, "drainit-linux-"+arch)) {
		l.t.Errorf("%s: the image of %s holds something else than /drainit", l.name, arch)
	}
	l.annotated(m.Annotations)
	l.annotated(c.Config.Labels)
	return m
}

func (l *layout) annotated(got map[string]string) {
	l.t.Helper()
	const prefix = "org.opencontainers.image."
	for name, want := range map[string]string{
		"title": "drainit", "version": version(l.t),
		"revision": do(l.t, released.clone, "git", "rev-parse", "HEAD"),
		"created": do(l.t, released.clone, "sh", "-c",
			"TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd"),
	} {
		if got[prefix+name] != want || got[prefix+"description"] == "" {
			l.t.Errorf("%s: no %s %s, or no description, in %v", l.name, name, want, got)
		}
	}
}

// Each tar is a layout with one thing that has the image's name: an index of one image for each
// architecture, or one image, which is then also what `docker save` writes.
func TestImagesAreOCILayouts(t *testing.T) {
	for i, name := range []string{"drainit-oci.tar", "drainit-image-linux-" + arches()[0] + ".tar",
		"drainit-image-linux-" + arches()[1] + ".tar"} {
		l := &layout{t, name, untar(t, read(t, name))}
		for file, f := range l.files {
			sum := fmt.Sprintf("blobs/sha256/%x", sha256.Sum256(f.data))
			if strings.HasPrefix(file, "blobs/") && file != sum {
				t.Errorf("%s: %s is %s", name, file, sum)
			}
		}
		var top, all manifest
		l.decode("index.json", &top)
		if len(top.Manifests) != 1 ||
			top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != reference(t) {
			t.Fatalf("%s has %+v, and podman loads one", name, top.Manifests)
		}
		if i > 0 {
			m := l.image(arches()[i-1], top.Manifests[0])
			want := fmt.Sprintf(`[{"Config":%q,"Layers":[%q],"RepoTags":[%q]}]`, blobOf(m.Config),
				blobOf(m.Layers[0]), reference(t))
			if got := string(l.files["manifest.json"].data); got != want {
				t.Errorf("%s: manifest.json is %s, want %s", name, got, want)
			}
			continue
		}
		l.decode(blobOf(top.Manifests[0]), &all)
		l.annotated(all.Annotations)
		var got []string
		for _, d := range all.Manifests {
			got = append(got, d.Platform.Architecture)
			l.image(d.Platform.Architecture, d)
		}
		if want := slices.Sorted(slices.Values(arches())); !slices.Equal(got, want) {
			t.Errorf("images for %q, want %q", got, want)
		}
	}
}
