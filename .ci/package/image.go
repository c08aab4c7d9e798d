package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// mediaType is what the types of the OCI image specification 1.1 begin with.
const mediaType = "application/vnd.oci.image."

// object is one of JSON's; its keys are written in the order of the alphabet.
type object = map[string]any

// layout is an OCI image layout while its blobs are added.
type layout struct{ files []file }

// add adds a blob and returns its descriptor.
func (l *layout) add(kind string, data []byte) object {
	d := object{"mediaType": mediaType + kind, "digest": digest(data), "size": len(data)}
	l.put(blob(d), data)
	return d
}

func (l *layout) put(name string, data []byte) { l.files = append(l.files, file{name, 0o644, data}) }

// blob is the file that a descriptor describes.
func blob(d object) string { return "blobs/" + strings.Replace(d["digest"].(string), ":", "/", 1) }

// index is what lists images.
func index(entries ...object) object {
	return object{"schemaVersion": 2, "mediaType": mediaType + "index.v1+json", "manifests": entries}
}

// images is a layout with one image for each architecture, below one index: a registry's
// "image for all platforms".
func (r *release) images() []byte {
	var l layout
	var entries []object
	for _, b := range r.binaries {
		entry, _, _ := r.addImage(&l, b)
		entries = append(entries, entry)
	}
	all := index(entries...)
	all["annotations"] = r.annotations()
	return r.finish(&l, l.add("index.v1+json", jsonOf(all)))
}

// image is a layout with the image of one architecture. A Docker without the containerd
// image store loads no layout, but it does load one that has a manifest.json, which is how
// `docker save` writes it. There an image has one architecture.
func (r *release) image(b binary) []byte {
	var l layout
	entry, config, layer := r.addImage(&l, b)
	l.put("manifest.json", jsonOf([]object{{
		"Config": blob(config), "RepoTags": []string{r.reference()}, "Layers": []string{blob(layer)},
	}}))
	return r.finish(&l, entry)
}

// finish is the tar of a layout that has one entry. With more of them podman and skopeo
// want to be told which.
func (r *release) finish(l *layout, entry object) []byte {
	entry["annotations"] = object{"org.opencontainers.image.ref.name": r.reference()}
	l.put("index.json", jsonOf(index(entry)))
	l.put("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	return tarOf(r.time, l.files)
}

// addImage adds the image of a binary, which holds nothing else, and returns the descriptors
// of its manifest, its config and its only layer.
func (r *release) addImage(l *layout, b binary) (entry, config, layer object) {
	files := tarOf(r.time, []file{{"drainit", 0o755, b.data}})
	layer = l.add("layer.v1.tar+gzip", gzipped(files))
	platform := object{"architecture": b.arch, "os": "linux"}
	if b.variant() != "" {
		platform["variant"] = b.variant()
	}
	about := object{
		"created": r.created(),
		"config":  object{"Entrypoint": []string{"/drainit"}, "Labels": r.annotations()},
		"rootfs":  object{"type": "layers", "diff_ids": []string{digest(files)}},
		"history": []object{{"created": r.created(),
			"created_by": "COPY drainit-linux-" + b.arch + " /drainit"}},
	}
	for key, value := range platform {
		about[key] = value
	}
	config = l.add("config.v1+json", jsonOf(about))
	entry = l.add("manifest.v1+json", jsonOf(object{
		"schemaVersion": 2, "mediaType": mediaType + "manifest.v1+json",
		"config": config, "layers": []object{layer}, "annotations": r.annotations(),
	}))
	entry["platform"] = platform
	return entry, config, layer
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

// reference is the image's name once it is loaded. None can be published below localhost:
// a Dockerfile that names it gets the loaded image, or an error.
func (r *release) reference() string {
	return "localhost/drainit:" + strings.ReplaceAll(r.version, "+", "-") // a tag can't have the + of +dirty
}

func (r *release) annotations() object {
	all := make(object)
	for name, value := range map[string]string{
		"title": "drainit", "description": summary, "version": r.version, "revision": r.revision,
		"created": r.created(),
	} {
		all["org.opencontainers.image."+name] = value
	}
	return all
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func jsonOf(v any) []byte {
	data, err := json.Marshal(v)
	must(err)
	return data
}
