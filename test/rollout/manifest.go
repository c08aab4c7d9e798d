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
	command []string // before the start script; nil for that of the README's manifest
}

var contenders = []contender{
	{"drainit", []string{"/drainit", "--grace", "20s", "--second-stop", "ignore", "--"}},
	{"drainit-readme", nil},
	{"tini", []string{"tini", "--"}},
	{"tini-g", []string{"tini", "-g", "--"}},
	{"dumb-init", []string{"dumb-init", "--"}},
	{"catatonit", []string{"catatonit", "--"}},
	{"none", []string{"/bin/sh"}},
}

// mode is how the workers take jobs, and are started.
type mode struct {
	name   string
	atOnce int           // jobs that a worker does at a time
	lease  time.Duration // after which interrupted jobs are given again, 0 for never
	start  string        // the start script
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
	{"one", 1, 0, "/start.sh"}, {"four", 4, 0, "/start.sh"}, {"one-lease", 1, lease, "/start.sh"},
	{"four-lease", 4, lease, "/start.sh"},
	{"exec", 1, 0, "/exec.sh"}, {"trap", 1, 0, "/trap.sh"}, {"wait", 1, 0, "/wait.sh"},
}

// manifest returns what a contender is tried with, and the patch that makes it a Deployment of this name.
func manifest(c contender, m mode, name, dir string) (yaml, patch string, err error) {
	yaml, command := file("deployment.yaml"), ""
	if c.command == nil {
		page, err := os.ReadFile(harness.Repo("README.md"))
		if yaml = harness.Block(string(page), "Kubernetes", "yaml"); yaml == "" {
			return "", "",
				errors.Join(err, errors.New("the README has no manifest in its section Kubernetes"))
		}
	} else {
		words, err := json.Marshal(c.command)
		if err != nil {
			return "", "", err
		}
		command = "command: " + string(words)
	}
	fill := strings.NewReplacer("@NAME@", name, "@IMAGE@", image, "@COMMAND@", command, "@AT_ONCE@",
		fmt.Sprint(m.atOnce), "@DIR@", dir, "@START@", m.start)
	return yaml, fill.Replace(file("patch.yaml")), nil
}
