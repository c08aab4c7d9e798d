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
	MediaType   string
	Digest      string
	Size        int
	Platform    platform
	Annotations map[string]string
}

type platform struct{ Architecture, OS, Variant string }

type manifest struct {
	SchemaVersion     int
	MediaType         string
	Manifests, Layers []descriptor
	Config            descriptor
	Annotations       map[string]string
}

type config struct {
	platform
	Created string
	Config  struct {
		Entrypoint []string
		Labels     map[string]string
	}
	RootFS struct {
		Type    string
		DiffIDs []string `json:"diff_ids"`
	}
}

// layout is an image layout of the shared release. Its files go as they are read.
type layout struct {
	t     *testing.T
	name  string
	files map[string]entry
}

// take is a file of the layout, into which it is decoded.
func (l *layout) take(name string, into any) []byte {
	l.t.Helper()
	f, found := l.files[name]
	delete(l.files, name)
	if !found {
		l.t.Fatalf("%s has no %s, or it was read before", l.name, name)
	}
	if into != nil {
		if err := json.Unmarshal(f.data, into); err != nil {
			l.t.Fatalf("%s: %v in %s", l.name, err, f.data)
		}
	}
	return f.data
}

func blobOf(d descriptor) string { return "blobs/" + strings.Replace(d.Digest, ":", "/", 1) }

// blob is what a descriptor describes, which must have its type, digest and size.
func (l *layout) blob(d descriptor, kind string, into any) []byte {
	l.t.Helper()
	data := l.take(blobOf(d), into)
	want := fmt.Sprint("application/vnd.oci.image.", kind, " ", sumOf(data), " ", len(data))
	if got := fmt.Sprint(d.MediaType, " ", d.Digest, " ", d.Size); got != want {
		l.t.Errorf("%s: described is %s, want %s", l.name, got, want)
	}
	return data
}

// image checks the image of an architecture.
func (l *layout) image(arch string, d descriptor) (m manifest) {
	l.t.Helper()
	var c config
	l.blob(d, "manifest.v1+json", &m)
	l.blob(m.Config, "config.v1+json", &c)
	if len(m.Layers) != 1 || m.SchemaVersion != 2 || m.MediaType != d.MediaType {
		l.t.Fatalf("%s: the manifest is %+v", l.name, m)
	}
	if want := (platform{arch, "linux", map[string]string{"arm64": "v8", "arm": "v6"}[arch]}); d.Platform != want || c.platform != want {
		l.t.Errorf("%s: platforms %v and %v, want %v", l.name, d.Platform, c.platform, want)
	}
	layer := gunzip(l.t, l.blob(m.Layers[0], "layer.v1.tar+gzip", nil))
	if c.RootFS.Type != "layers" || !slices.Equal(c.RootFS.DiffIDs, []string{sumOf(layer)}) {
		l.t.Errorf("%s: the layer is %s, not %+v", l.name, sumOf(layer), c.RootFS)
	}
	files := untar(l.t, layer)
	if f := files["drainit"]; len(files) != 1 || f.mode != 0o755 || !bytes.Equal(f.data, read(l.t, "drainit-linux-"+arch)) {
		l.t.Errorf("%s: the image of %s holds something else than /drainit", l.name, arch)
	}
	if !slices.Equal(c.Config.Entrypoint, []string{"/drainit"}) {
		l.t.Errorf("%s: entrypoint %q", l.name, c.Config.Entrypoint)
	}
	l.annotated(m.Annotations)
	l.annotated(c.Config.Labels)
	return m
}

func (l *layout) annotated(got map[string]string) {
	l.t.Helper()
	const prefix = "org.opencontainers.image."
	for name, want := range map[string]string{
		"title": "drainit", "version": version(l.t), "revision": do(l.t, released.clone, "git", "rev-parse", "HEAD"),
		"created": do(l.t, released.clone, "sh", "-c", "TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd"),
	} {
		if got[prefix+name] != want || got[prefix+"description"] == "" {
			l.t.Errorf("%s: no %s %s, or no description, in %v", l.name, name, want, got)
		}
	}
}

// Each tar is a layout with one thing that has the image's name: an index of one image for each
// architecture, or one image, which is then also what `docker save` writes.
func TestImagesAreOCILayouts(t *testing.T) {
	for i, name := range []string{"drainit-oci.tar", "drainit-image-linux-" + arches()[0] + ".tar", "drainit-image-linux-" + arches()[1] + ".tar"} {
		l := &layout{t, name, untar(t, read(t, name))}
		if got := string(l.take("oci-layout", nil)); got != `{"imageLayoutVersion":"1.0.0"}` {
			t.Errorf("%s: oci-layout is %s", name, got)
		}
		var top, all manifest
		l.take("index.json", &top)
		if len(top.Manifests) != 1 || top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != reference(t) {
			t.Fatalf("%s has %+v, and podman loads one", name, top.Manifests)
		}
		if i == 0 {
			l.blob(top.Manifests[0], "index.v1+json", &all)
			l.annotated(all.Annotations)
			var got []string
			for _, d := range all.Manifests {
				got = append(got, d.Platform.Architecture)
				l.image(d.Platform.Architecture, d)
			}
			if want := slices.Sorted(slices.Values(arches())); !slices.Equal(got, want) || all.SchemaVersion != 2 {
				t.Errorf("images for %q, want %q", got, want)
			}
		} else {
			m := l.image(arches()[i-1], top.Manifests[0])
			want := fmt.Sprintf(`[{"Config":%q,"Layers":[%q],"RepoTags":[%q]}]`, blobOf(m.Config), blobOf(m.Layers[0]), reference(t))
			if got := string(l.take("manifest.json", nil)); got != want {
				t.Errorf("%s: manifest.json is %s, want %s", name, got, want)
			}
		}
		for file := range l.files {
			t.Errorf("%s: nothing leads to %s", name, file)
		}
	}
}

func sumOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }
