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
	Platform    struct{ Architecture, OS, Variant string }
	Annotations map[string]string
}

type manifest struct {
	SchemaVersion     int
	MediaType         string
	Manifests, Layers []descriptor
	Config            descriptor
	Annotations       map[string]string
}

type config struct {
	Created, Architecture, OS, Variant string
	Config                             struct {
		Entrypoint []string
		Labels     map[string]string
	}
	RootFS struct {
		Type    string
		DiffIDs []string `json:"diff_ids"`
	}
}

// layout is an image layout of the shared release, and which of its files were read.
type layout struct {
	t     *testing.T
	name  string
	files map[string]*entry
	seen  map[string]bool
}

func openLayout(t *testing.T, name string) *layout {
	t.Helper()
	l := &layout{t, name, untar(t, read(t, name)), make(map[string]bool)}
	if got := string(l.file("oci-layout")); got != `{"imageLayoutVersion":"1.0.0"}` {
		t.Errorf("%s: oci-layout is %s", name, got)
	}
	return l
}

func (l *layout) file(name string) []byte {
	l.t.Helper()
	f := l.files[name]
	if f == nil {
		l.t.Fatalf("%s has no %s", l.name, name)
	}
	l.seen[name] = true
	return f.data
}

// blob is what a descriptor describes, which must have its digest and size.
func (l *layout) blob(d descriptor) []byte {
	l.t.Helper()
	data := l.file("blobs/" + strings.Replace(d.Digest, ":", "/", 1))
	if sum := sumOf(data); sum != d.Digest || len(data) != d.Size {
		l.t.Errorf("%s: a blob of %d bytes, %s, is described as %d, %s", l.name, len(data), sum, d.Size, d.Digest)
	}
	return data
}

func (l *layout) json(data []byte, into any) {
	l.t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		l.t.Fatalf("%s: %v in %s", l.name, err, data)
	}
}

// entry is what the index of the layout leads to: one thing, with the image's name.
func (l *layout) entry() (descriptor, manifest) {
	l.t.Helper()
	var index, m manifest
	l.json(l.file("index.json"), &index)
	if len(index.Manifests) != 1 {
		l.t.Fatalf("%s has %d entries, and podman loads one", l.name, len(index.Manifests))
	}
	d := index.Manifests[0]
	if got := d.Annotations["org.opencontainers.image.ref.name"]; got != reference(l.t) {
		l.t.Errorf("%s is named %q", l.name, got)
	}
	l.json(l.blob(d), &m)
	if m.SchemaVersion != 2 || m.MediaType != d.MediaType {
		l.t.Errorf("%s: version %d of %q, described as %q", l.name, m.SchemaVersion, m.MediaType, d.MediaType)
	}
	return d, m
}

// image checks the image of an architecture.
func (l *layout) image(arch string, d descriptor) {
	l.t.Helper()
	var m manifest
	var c config
	l.json(l.blob(d), &m)
	l.json(l.blob(m.Config), &c)
	types := []string{d.MediaType, m.MediaType, m.Config.MediaType, m.Layers[0].MediaType, c.RootFS.Type}
	if want := []string{typeOf("manifest.v1+json"), typeOf("manifest.v1+json"), typeOf("config.v1+json"), typeOf("layer.v1.tar+gzip"), "layers"}; !slices.Equal(types, want) {
		l.t.Errorf("%s: types %q, want %q", l.name, types, want)
	}
	want := [3]string{arch, "linux", map[string]string{"arm64": "v8", "arm": "v6"}[arch]}
	if p := d.Platform; [3]string{p.Architecture, p.OS, p.Variant} != want || [3]string{c.Architecture, c.OS, c.Variant} != want {
		l.t.Errorf("%s: platforms %v and %+v, want %v", l.name, p, c, want)
	}
	layer, err := gunzip(l.blob(m.Layers[0]))
	if err != nil {
		l.t.Fatal(err)
	}
	if !slices.Equal(c.RootFS.DiffIDs, []string{sumOf(layer)}) || len(m.Layers) != 1 {
		l.t.Errorf("%s: the layer is %s, not %s", l.name, sumOf(layer), c.RootFS.DiffIDs)
	}
	files := untar(l.t, layer)
	if f := files["drainit"]; len(files) != 1 || f == nil || f.mode != 0o755 || !bytes.Equal(f.data, read(l.t, "drainit-linux-"+arch)) {
		l.t.Errorf("%s: the image of %s holds something else than /drainit", l.name, arch)
	}
	if !slices.Equal(c.Config.Entrypoint, []string{"/drainit"}) {
		l.t.Errorf("%s: entrypoint %q", l.name, c.Config.Entrypoint)
	}
	l.annotated(m.Annotations)
	l.annotated(c.Config.Labels)
}

func (l *layout) annotated(got map[string]string) {
	l.t.Helper()
	for name, want := range map[string]string{
		"title": "drainit", "version": version(l.t), "revision": do(l.t, released.clone, "git", "rev-parse", "HEAD"),
		"created": do(l.t, released.clone, "sh", "-c", "TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd"),
	} {
		if got["org.opencontainers.image."+name] != want {
			l.t.Errorf("%s: no %s %s in %v", l.name, name, want, got)
		}
	}
	if got["org.opencontainers.image.description"] == "" {
		l.t.Errorf("%s: no description", l.name)
	}
}

// complete is called last: all files have been reached.
func (l *layout) complete() {
	l.t.Helper()
	for name := range l.files {
		if !l.seen[name] {
			l.t.Errorf("%s: nothing leads to %s", l.name, name)
		}
	}
}

func TestLayoutHasAnImageForEachArchitecture(t *testing.T) {
	l := openLayout(t, "drainit-oci.tar")
	_, index := l.entry()
	if index.MediaType != typeOf("index.v1+json") {
		t.Errorf("the entry is a %s", index.MediaType)
	}
	l.annotated(index.Annotations)
	var got []string
	for _, d := range index.Manifests {
		got = append(got, d.Platform.Architecture)
		l.image(d.Platform.Architecture, d)
	}
	slices.Sort(got)
	if want := slices.Sorted(slices.Values(arches())); !slices.Equal(got, want) {
		t.Errorf("images for %q, want %q", got, want)
	}
	l.complete()
}

func TestImageIsAlsoWhatDockerSaves(t *testing.T) {
	for _, arch := range arches() {
		l := openLayout(t, "drainit-image-linux-"+arch+".tar")
		d, m := l.entry()
		l.image(arch, d)
		var saved []struct {
			Config           string
			RepoTags, Layers []string
		}
		l.json(l.file("manifest.json"), &saved)
		blob := func(d descriptor) string { return "blobs/" + strings.Replace(d.Digest, ":", "/", 1) }
		if len(saved) != 1 || saved[0].Config != blob(m.Config) || !slices.Equal(saved[0].Layers, []string{blob(m.Layers[0])}) ||
			!slices.Equal(saved[0].RepoTags, []string{reference(t)}) {
			t.Errorf("%s: manifest.json has %+v", arch, saved)
		}
		l.complete()
	}
}

func typeOf(what string) string { return "application/vnd.oci.image." + what }

func sumOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// reference is the name of the loaded image.
func reference(t *testing.T) string {
	t.Helper()
	return "localhost/drainit:" + strings.ReplaceAll(version(t), "+", "-")
}
