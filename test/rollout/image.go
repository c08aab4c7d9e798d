package rollout

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"drainit/test/harness/engines"
)

// image is the one image of all containers: the worker and each init. Its entrypoint is what a
// pod's own container runs (the sandbox, or pause).
const image = "localhost/rollout:1"

// programs are those of this machine in the images, each where it is here.
var programs = []string{"/bin/sh", "node", "tini", "dumb-init", "catatonit", "/usr/bin/env"}

// npm is Debian's or Node's own: a folder of scripts, and a link to one of them.
const npm = "/usr/lib/node_modules/npm"

// layer is one of an image.
type layer struct {
	name string
	tar  bytes.Buffer
}

// writeImage writes image.tar, in the form that docker save gives it. The folder has drainit already. The
// images that are left as they are have no drainit.
func writeImage(dir string, programs ...string) error {
	base, drainit := layer{name: "base.tar"}, layer{name: "drainit.tar"}
	err := engines.WriteTar(&base.tar, func(r *engines.Rootfs) {
		for _, program := range programs {
			r.Program(program)
		}
		r.Text("/worker.js", file("worker.js"))
		for name, text := range starts {
			r.Text(name, text)
		}
		if slices.Contains(programs, "node") {
			r.Tree(npm, npm)
			r.Link("/usr/bin/npm", npm+"/bin/npm-cli.js")
			r.Text("/package.json", `{"scripts": {"start": "node /worker.js"}}`)
		}
	})
	err2 := engines.WriteTar(&drainit.tar, func(r *engines.Rootfs) {
		r.Copy("/drainit", filepath.Join(dir, "drainit"))
	})
	var saved bytes.Buffer
	err3 := engines.WriteTar(&saved, func(r *engines.Rootfs) {
		list := []any{addImage(r, image, []string{"/drainit", "--pause"}, &base, &drainit)}
		for _, m := range images {
			list = append(list, addImage(r, m.tag(), m.image, &base))
		}
		for _, l := range []*layer{&base, &drainit} {
			r.Text(l.name, l.tar.String())
		}
		r.Text("manifest.json", asJSON(list))
	})
	return errors.Join(err, err2, err3, os.WriteFile(filepath.Join(dir, "image.tar"), saved.Bytes(), 0o600))
}

// addImage adds the config of an image, and returns its entry in the manifest.
func addImage(r *engines.Rootfs, tag string, entrypoint []string, layers ...*layer) any {
	var names, sums []string
	for _, l := range layers {
		names = append(names, l.name)
		sums = append(sums, fmt.Sprintf("sha256:%x", sha256.Sum256(l.tar.Bytes())))
	}
	config := strings.NewReplacer("/", "-", ":", "-").Replace(tag) + ".json"
	r.Text(config, asJSON(map[string]any{"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": entrypoint, "WorkingDir": "/",
			"Env": []string{"PATH=" + os.Getenv("PATH"), "npm_config_update_notifier=false"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": sums}}))
	return map[string]any{"Config": config, "RepoTags": []string{tag}, "Layers": names}
}

// asJSON is a value of strings, lists and maps.
func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}
