package rollout

import (
	"bytes"
	"crypto/sha256"
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
	config := fmt.Sprintf(`{"architecture": %q, "os": "linux",
		"config": {"Entrypoint": ["/drainit", "--pause"], "Env": [%q]},
		"rootfs": {"type": "layers", "diff_ids": ["sha256:%x"]}}`,
		runtime.GOARCH, "PATH="+os.Getenv("PATH"), sha256.Sum256(layer.Bytes()))
	manifest := fmt.Sprintf(`[{"Config": "config.json", "RepoTags": [%q], "Layers": ["layer.tar"]}]`, image)
	err2 := engines.WriteTar(&saved, func(r *engines.Rootfs) {
		r.Text("config.json", config)
		r.Text("manifest.json", manifest)
		r.Text("layer.tar", layer.String())
	})
	return errors.Join(err, err2, os.WriteFile(filepath.Join(dir, "image.tar"),
		saved.Bytes(), 0o600))
}
