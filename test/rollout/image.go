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

	"drainit/test/harness/engines"
)

// image is the one image of all containers: the worker and each init. Its entrypoint is what a
// pod's own container runs (the sandbox, or pause).
const image = "localhost/rollout:1"

// programs are those of this machine in the image, each where it is here.
var programs = []string{"/bin/sh", "node", "tini", "dumb-init", "catatonit"}

// writeImage writes image.tar, in the form that docker save gives it. The folder has drainit already.
func writeImage(dir string, programs ...string) error {
	type object = map[string]any
	var layer, saved bytes.Buffer
	err := engines.WriteTar(&layer, func(r *engines.Rootfs) {
		for _, program := range programs {
			r.Program(program)
		}
		r.Copy("/drainit", filepath.Join(dir, "drainit"))
		r.Text("/worker.js", file("worker.js"))
		for name, text := range starts {
			r.Text(name, text)
		}
	})
	config, err2 := json.Marshal(object{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config": object{"Entrypoint": []string{"/drainit", "--pause"},
			"Env": []string{"PATH=" + os.Getenv("PATH")}},
		"rootfs": object{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x",
			sha256.Sum256(layer.Bytes()))}},
	})
	manifest, err3 := json.Marshal([]object{{"Config": "config.json", "RepoTags": []string{image},
		"Layers": []string{"layer.tar"}}})
	err4 := engines.WriteTar(&saved, func(r *engines.Rootfs) {
		r.Text("config.json", string(config))
		r.Text("manifest.json", string(manifest))
		r.Text("layer.tar", layer.String())
	})
	return errors.Join(err, err2, err3, err4, os.WriteFile(filepath.Join(dir, "image.tar"),
		saved.Bytes(), 0o600))
}
