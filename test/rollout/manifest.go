package rollout

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"drainit/test/harness"
)

// contender is an init, and the manifest that it is tried with.
type contender struct {
	name    string
	command []string // before the start script; nil for that of the page's manifest

	// Of an image that is left as it is: see inject.go.
	file      string // the manifest, in test/platform
	class     string // the RuntimeClass
	namespace string // "" for the default one
}

var contenders = []contender{
	{name: "drainit", command: []string{"/drainit", "--grace", "20s", "--second-stop", "ignore", "--"}},
	{name: "drainit-readme"},
	{name: "tini", command: []string{"tini", "--"}},
	{name: "tini-g", command: []string{"tini", "-g", "--"}},
	{name: "dumb-init", command: []string{"dumb-init", "--"}},
	{name: "catatonit", command: []string{"catatonit", "--"}},
	{name: "none", command: []string{"/bin/sh"}},
}

// mode is how the workers take jobs, and are started.
type mode struct {
	name   string
	atOnce int           // jobs that a worker does at a time
	lease  time.Duration // after which interrupted jobs are given again, 0 for never
	start  string        // the start script
	image  []string      // the entrypoint of an image of its own
}

// starts are the start scripts: without exec, with it, and with a trap that does nothing and one that
// passes TERM on.
var starts = map[string]string{
	"/start.sh": file("start.sh"),
	"/exec.sh":  "#!/bin/sh\nexec node /worker.js\n",
	"/trap.sh":  "#!/bin/sh\ntrap : TERM\nnode /worker.js\n",
	"/wait.sh":  "#!/bin/sh\ntrap 'kill $c' TERM\nnode /worker.js & c=$!\nwait $c\nwait $c\n",
}

// A lease is longer than any job takes, in a drain too.
const lease = 10 * time.Second

var modes = []mode{
	{"one", 1, 0, "/start.sh", nil}, {"four", 4, 0, "/start.sh", nil},
	{"one-lease", 1, lease, "/start.sh", nil}, {"four-lease", 4, lease, "/start.sh", nil},
	{"exec", 1, 0, "/exec.sh", nil}, {"trap", 1, 0, "/trap.sh", nil}, {"wait", 1, 0, "/wait.sh", nil},
}

// manifest returns what a contender is tried with, and the patch that makes it a Deployment of this name.
func manifest(c contender, m mode, name, dir string) (yaml, patch string, err error) {
	if m.image != nil {
		return injected(c, m, name, dir)
	}
	yaml, command := file("deployment.yaml"), ""
	if c.command == nil {
		page, err := os.ReadFile(harness.Repo("docs/kubernetes.md"))
		if yaml = harness.Block(string(page), "In the image", "yaml"); yaml == "" {
			return "", "",
				errors.Join(err, errors.New("docs/kubernetes.md has no manifest in its section In the image"))
		}
	} else {
		words, err := json.Marshal(c.command)
		if err != nil {
			return "", "", err
		}
		command = "command: " + string(words) + "\n          "
	}
	return yaml, patchFor(m, image, name, dir, command+fmt.Sprintf("args: [%q]", m.start)), nil
}

// patchFor makes a manifest a Deployment of this name, with this command.
func patchFor(m mode, image, name, dir, command string) string {
	return strings.NewReplacer("@NAME@", name, "@IMAGE@", image, "@COMMAND@", command, "@AT_ONCE@",
		fmt.Sprint(m.atOnce), "@DIR@", dir).Replace(file("patch.yaml"))
}
