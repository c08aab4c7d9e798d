package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// The media types of the OCI image specification 1.1.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	Variant      string `json:"variant,omitempty"`
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations"`
}

type index struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Manifests     []descriptor      `json:"manifests"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type config struct {
	Created string `json:"created"`
	platform
	Config struct {
		Entrypoint []string
		Labels     map[string]string
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
	History []history `json:"history"`
}

type history struct {
	Created   string `json:"created"`
	CreatedBy string `json:"created_by"`
}

// layout is an OCI image layout while its blobs are added.
type layout struct{ files []file }

func (l *layout) add(mediaType string, data []byte) descriptor {
	d := descriptor{MediaType: mediaType, Digest: digest(data), Size: len(data)}
	l.put("blobs/"+strings.Replace(d.Digest, ":", "/", 1), data)
	return d
}

func (l *layout) put(name string, data []byte) {
	l.files = append(l.files, file{name, 0o644, data})
}

// images is a layout with one image for each architecture, below one index: a registry's
// "image for all platforms".
func (r *release) images() []byte {
	var l layout
	all := index{SchemaVersion: 2, MediaType: typeIndex, Annotations: r.annotations()}
	for _, b := range r.binaries {
		d, _ := r.addImage(&l, b)
		all.Manifests = append(all.Manifests, d)
	}
	return r.finish(&l, l.add(typeIndex, jsonOf(all)))
}

// image is a layout with the image of one architecture. A Docker without the containerd
// image store loads no layout, but it does load one that has a manifest.json, which is how
// `docker save` writes it. There an image has one architecture.
func (r *release) image(b binary) []byte {
	var l layout
	d, m := r.addImage(&l, b)
	blob := func(d descriptor) string { return "blobs/" + strings.Replace(d.Digest, ":", "/", 1) }
	l.put("manifest.json", jsonOf([]any{map[string]any{
		"Config": blob(m.Config), "RepoTags": []string{r.reference()}, "Layers": []string{blob(m.Layers[0])}}}))
	return r.finish(&l, d)
}

// finish is the tar of a layout that has one entry. With more of them podman and skopeo
// want to be told which.
func (r *release) finish(l *layout, entry descriptor) []byte {
	entry.Annotations = map[string]string{"org.opencontainers.image.ref.name": r.reference()}
	l.put("index.json", jsonOf(index{SchemaVersion: 2, MediaType: typeIndex, Manifests: []descriptor{entry}}))
	l.put("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	return tarOf(r.time, "", l.files)
}

// addImage adds the image of a binary, which holds nothing else.
func (r *release) addImage(l *layout, b binary) (descriptor, manifest) {
	layer := tarOf(r.time, "", []file{{"drainit", 0o755, b.data}})
	c := config{Created: r.created(), platform: platform{b.arch, "linux", b.variant()}}
	c.Config.Entrypoint = []string{"/drainit"}
	c.Config.Labels = r.annotations()
	c.RootFS.Type = "layers"
	c.RootFS.DiffIDs = []string{digest(layer)}
	c.History = []history{{r.created(), "COPY drainit-linux-" + b.arch + " /drainit"}}
	m := manifest{SchemaVersion: 2, MediaType: typeManifest, Annotations: r.annotations()}
	m.Layers = []descriptor{l.add(typeLayer, gzipped(layer))}
	m.Config = l.add(typeConfig, jsonOf(c))
	d := l.add(typeManifest, jsonOf(m))
	d.Platform = &c.platform
	return d, m
}

// variant is the platform's, in the words of the OCI: v6 of arm, v8 of arm64. The others
// have none.
func (b binary) variant() string {
	switch b.arch {
	case "arm":
		return "v" + b.settings["GOARM"][:1]
	case "arm64":
		return b.settings["GOARM64"][:2]
	}
	return ""
}

// reference is the image's name once it is loaded. Nobody can publish one below localhost:
// a Dockerfile that names it gets the loaded image, or an error.
func (r *release) reference() string {
	return "localhost/drainit:" + strings.ReplaceAll(r.version, "+", "-") // a tag can't have the + of +dirty
}

func (r *release) annotations() map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title": "drainit", prefix + "description": summary,
		prefix + "version": r.version, prefix + "revision": r.revision, prefix + "created": r.created(),
	}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// jsonOf has its keys in order: of a struct its own, of a map the alphabet's.
func jsonOf(v any) []byte {
	data, err := json.Marshal(v)
	must(err)
	return data
}
