package rollout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"drainit/test/harness"
)

// images are those that are left as they are, by their own entrypoints.
var images = []mode{
	{name: "start", atOnce: 1, image: []string{"/start.sh"}},
	{name: "trap", atOnce: 1, image: []string{"/trap.sh"}},
	{name: "tini", atOnce: 1, image: []string{"tini", "--", "/start.sh"}},
	{name: "dumb-init", atOnce: 1, image: []string{"dumb-init", "--", "/start.sh"}},
	{name: "npm", atOnce: 1, image: []string{"npm", "start"}},
}

// tag is the name of the image.
func (m mode) tag() string { return "localhost/" + m.name + ":1" }

// ways are how such an image gets its drainit: not at all, as a runtime for a class of pods or for those of a
// namespace, or by a manifest that brings it.
var ways = []contender{
	{name: "without"},
	{name: "drainit-class", class: "drainit"},
	{name: "drainit-namespace", namespace: "drained"},
	{name: "drainit-shared-volume", file: "shared-volume.yaml"},
	{name: "drainit-image-volume", file: "image-volume.yaml"},
}

// onNode are the stanzas for containerd: that of test/platform, and the same for the default runtime of a
// node.
func onNode() string {
	stanza := strings.Replace(platformFile("containerd.toml"), "= true", "= false", 1) // no systemd is here
	byDefault := strings.NewReplacer("runtimes.drainit", "runtimes.drainit-default", "/drainit-runtime",
		"/drainit-runtime-default").Replace(stanza)
	return stanza + "\n" + byDefault
}

// platformFile is the text of a file that a page shows.
func platformFile(name string) string {
	text, err := os.ReadFile(harness.Repo("test", "platform", name))
	if err != nil {
		panic(err)
	}
	return string(text)
}

// waysHere are those that containerd can go. Debian 12 has one without image volumes.
func waysHere(ctx context.Context) ([]contender, error) {
	version, err := output(exec.CommandContext(ctx, "containerd", "--version"))
	return slices.DeleteFunc(slices.Clone(ways), func(way contender) bool {
		tooOld := way.file == "image-volume.yaml" && strings.Contains(version, " 1.")
		if tooOld {
			report("%s is left out: it needs containerd 2.1 in PATH", way.name)
		}
		return tooOld
	}), err
}

// install has a DaemonSet install drainit on the node, whose default runtime it is for one namespace. The
// node has folders of its own in place of this machine's /etc and /opt: see files/stage.sh.
func (c *cluster) install(ctx context.Context) error {
	yaml := strings.ReplaceAll(platformFile("runtime.yaml"), "drainit:1.0", image)
	file := filepath.Join(c.dir, "runtime.yaml")
	if err := errors.Join(os.WriteFile(file, []byte(yaml), 0o600), os.MkdirAll("/etc/drainit", 0o755),
		os.WriteFile("/etc/drainit/runtime.json", []byte(`{"namespaces": ["drained"]}`), 0o644)); err != nil {
		return err
	}
	for _, command := range []string{"--namespace kube-system apply -f " + file, "create namespace drained",
		"--namespace kube-system rollout status daemonset drainit --timeout " + patience.String()} {
		if err := c.do(ctx, strings.Fields(command)...); err != nil {
			return err
		}
	}
	return nil
}

// injected returns the manifest of a way for an image, and the patch that makes it a Deployment of this name.
func injected(way contender, m mode, name, dir string) (yaml, patch string, err error) {
	if way.file == "" {
		patch := patchFor(m, m.tag(), name, dir, "")
		if way.class != "" {
			const before = "      containers:"
			patch = strings.Replace(patch, before, "      runtimeClassName: "+way.class+"\n"+before, 1)
		}
		return file("deployment.yaml"), patch, nil
	}
	yaml = strings.ReplaceAll(platformFile(way.file), "drainit:1.0", image)
	// The command is the manifest's, and what it must repeat is the image's.
	return yaml, patchFor(m, m.tag(), name, dir, fmt.Sprintf("args: %s", asJSON(m.image))), nil
}
