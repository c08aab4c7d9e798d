package platform

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"drainit/test/harness"
	"drainit/test/harness/engines"
)

// leaves are the values of a YAML file by their paths, such as container.ports[0].name. A list of
// values is one, with spaces.
type leaves map[string]string

// flatten is a program in Python. A string that YAML would read as something else has quotes.
const flatten = `
import json, sys, yaml
leaves = {}
def walk(at, v):
    if isinstance(v, dict):
        for k, x in v.items(): walk(f"{at}.{k}" if at else k, x)
    elif isinstance(v, list) and any(isinstance(x, dict) for x in v):
        for i, x in enumerate(v): walk(f"{at}[{i}]", x)
    elif isinstance(v, list): leaves[at] = " ".join(map(str, v))
    else: leaves[at] = v if isinstance(v, str) and isinstance(yaml.safe_load(v), str) else json.dumps(v)
walk("", list(yaml.safe_load_all(open(sys.argv[1])))[int(sys.argv[2])])
json.dump(leaves, sys.stdout)`

// readYAML reads a file with one document. The template of a pod is "pod", and its container "container".
func readYAML(t *testing.T, path string) leaves { t.Helper(); return readDocument(t, path, 0) }

// readDocument reads one of the documents of a file.
func readDocument(t *testing.T, path string, number int) leaves {
	t.Helper()
	harness.Need(t, "python3")
	out, err := exec.Command("python3", "-c", flatten, path, strconv.Itoa(number)).CombinedOutput()
	if err != nil && bytes.Contains(out, []byte("No module named 'yaml'")) {
		harness.Skip(t, "needs the Python module yaml")
	}
	text := strings.NewReplacer(`"spec.template.spec.containers[0].`, `"container.`, `"spec.template.spec.`,
		`"pod.`).Replace(string(out))
	var l leaves
	if err = errors.Join(err, json.Unmarshal([]byte(text), &l)); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return l
}

// limitFor is the shortest limit of a platform, in seconds, for a grace period: that and a tenth of the
// limit, 1 s at least and 5 s at most (docs/start.md).
func limitFor(grace int) int {
	limit := grace + 1
	for 10*limit < 10*grace+min(max(limit, 10), 50) {
		limit++
	}
	return limit
}

// The platform waits for the hook, and as docs/start.md says for the grace period. The last lines of the log,
// which say why the worker was killed or not started, are the termination message.
func TestManifestIsSound(t *testing.T) {
	t.Parallel()
	for grace, limit := range map[int]int{9: 10, 18: 20, 27: 30, 65: 70, 80: 85} {
		if limitFor(grace) != limit {
			t.Errorf("a grace period of %d s has a limit of %d s", grace, limitFor(grace))
		}
	}
	for _, file := range []string{"deployment.yaml", "job.yaml", "image-volume.yaml", "shared-volume.yaml"} {
		got := readYAML(t, file)
		grace := after(got["container.command"]+" --grace "+got["container.env[0].value"], "--grace")
		need := seconds(t, after(got["container.lifecycle.preStop.exec.command"]+" --sleep 0s", "--sleep")) +
			limitFor(seconds(t, grace))
		if have, err := strconv.Atoi(got["pod.terminationGracePeriodSeconds"]); err != nil || have < need {
			t.Errorf("%s: terminationGracePeriodSeconds %d, want at least %d", file, have, need)
		}
		if got["container.terminationMessagePolicy"] != "FallbackToLogsOnError" {
			t.Errorf("%s: the log's last lines are no termination message", file)
		}
	}
}

// after is the word after a flag.
func after(command, flag string) string {
	words := strings.Fields(command)
	return words[slices.Index(words, flag)+1]
}

// seconds reads a duration such as 80s.
func seconds(t *testing.T, text string) int {
	t.Helper()
	d, err := time.ParseDuration(text)
	harness.Must(t, err)
	return int(d.Seconds())
}

// The Deployment of docs/start.md is whole, and asks for the class of runtime.yaml.
func TestManifestOfTheFirstPage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "start.yaml")
	harness.WriteFile(t, path, harness.PageBlock(t, harness.Repo("docs", "start.md"), "Two examples", "yaml"))
	got, class := readYAML(t, path), readDocument(t, "runtime.yaml", 0)
	for path, want := range map[string]string{"kind": "Deployment",
		"pod.runtimeClassName":                  class["metadata.name"],
		"pod.terminationGracePeriodSeconds":     strconv.Itoa(limitFor(65)),
		"spec.template.metadata.labels.app":     got["spec.selector.matchLabels.app"],
		"container.command":                     "celery -A app worker",
		"container.lifecycle.preStop.exec":      "",
		"container.env[0].value":                "",
		"spec.template.spec.containers[1].name": ""} {
		if got[path] != want {
			t.Errorf("%s is %q, want %q", path, got[path], want)
		}
	}
}

// What the pages have to copy ends as the file does that the tests run.
func TestExamplesOfThePagesAreTheTestedOnes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		page, section, file string
		own                 string // paths whose values the page has of its own
		// paths that have nothing to do with a stop, or values that are the platform's defaults
		leftOut string
	}{
		{"docs/kubernetes.md", "In the image", "deployment.yaml",
			`^(metadata\.name|container\.(name|image|args|(readiness|liveness)Probe\.httpGet\.port)|` +
				`spec\..*abels.*)$`,
			`^(metadata\.labels|spec\.(replicas|strategy)|pod\.(auto|sec)|` +
				`container\.(ports|terminationM|resources|sec|livenessProbe\.(period|failure)))`},
		{"docs/platforms.md", "Compose", "compose.yaml", `^services\.worker\.(image|command)$`,
			`^services\.(web|console|worker\.(restart|healthcheck\.(interval|timeout|retries)))`},
	} {
		path := filepath.Join(t.TempDir(), "example.yaml")
		harness.WriteFile(t, path, harness.PageBlock(t, harness.Repo(tt.page), tt.section, "yaml"))
		got, want := readYAML(t, path), readYAML(t, tt.file)
		own, leftOut := regexp.MustCompile(tt.own), regexp.MustCompile(tt.leftOut)
		for path, value := range want {
			if got[path] != value && !own.MatchString(path) &&
				(got[path] != "" || !leftOut.MatchString(path)) {
				t.Errorf("%s: %s is %q, and in %s %q", tt.section, path, got[path], tt.file, value)
			}
		}
		for path, value := range got {
			if want[path] == "" && !own.MatchString(path) || value == "" {
				t.Errorf("%s: %s %q is not in %s", tt.section, path, value, tt.file)
			}
		}
		if tt.file == "deployment.yaml" {
			port := want["container.ports[0].containerPort"]
			if got["container.readinessProbe.httpGet.port"] != port ||
				got["container.livenessProbe.httpGet.port"] != port {
				t.Errorf("the probes do not ask the port %s: %q", port, got)
			}
			label := got["spec.selector.matchLabels.app"]
			if label == "" || got["spec.template.metadata.labels.app"] != label ||
				got["container.args"] == "" || got["container.image"] == "" {
				t.Errorf("no worker, or other labels than are selected: %q", got)
			}
		}
	}
}

// startPod runs the container of a manifest as a kubelet would, its commands to the letter.
// Its worker drains until USR1 comes, and not for 5 s: the probes may take long on a busy machine.
func startPod(t *testing.T, pod leaves) (box engines.RuncContainer) {
	t.Helper()
	var env []string
	if name := pod["container.env[0].name"]; name != "" {
		env = []string{name + "=" + pod["container.env[0].value"]}
	}
	args := strings.NewReplacer("TSTP,CONT,TERM -drain 5s", "TSTP,CONT,TERM,USR1 -end USR1",
		"-exit 1 -drain 5s", "-exit 1 -catch TERM,USR1 -end USR1").Replace(pod["container.args"])
	box = engines.StartRunc(t, strings.Fields(pod["container.command"]+" "+args), env...)
	box.WaitOut(`^ready`)
	return box
}

// wantProbe checks whether a probe of the manifest succeeds, from inside the pod.
func wantProbe(c engines.RuncContainer, pod leaves, probe string, want bool) {
	c.T.Helper()
	command := strings.Fields(pod["container."+probe+".exec.command"])
	if path := pod["container."+probe+".httpGet.path"]; path != "" {
		command = []string{"/busybox", "wget", "-q", "-O", "-", "http://127.0.0.1:" +
			pod["container.ports[0].containerPort"] + path}
	}
	ran := c.Exec(command...)
	if got := ran.Wait() == 0; got != want {
		c.T.Errorf("%q: success %v, want %v\n%s%s", command, got, want, ran.Out(), ran.Err())
	}
}

// The end of a pod: the hook, and TERM when it has come back.
func TestDeploymentAsAKubeletRunsIt(t *testing.T) {
	t.Parallel()
	pod := readYAML(t, "deployment.yaml")
	box := startPod(t, pod)
	wantProbe(box, pod, "readinessProbe", true)
	wantProbe(box, pod, "livenessProbe", true)

	began := time.Now()
	hook := box.Exec(strings.Fields(pod["container.lifecycle.preStop.exec.command"])...)
	box.WaitOut(`^got SIGTSTP`)
	wantProbe(box, pod, "readinessProbe", false)
	wantProbe(box, pod, "livenessProbe", true)
	hook.WantExit(0)
	harness.WantTookAtLeast(t, began, 5*time.Second)
	box.WantGots("got SIGTSTP")

	box.Kill("TERM")
	box.WaitOut(`^got SIGTERM`)
	wantProbe(box, pod, "readinessProbe", false)
	wantProbe(box, pod, "livenessProbe", true)
	box.Kill("USR1")
	box.WantExit(0)
	box.WantGots("got SIGTSTP", "got SIGTERM", "got SIGUSR1")
	box.WantCount("drained", 1)
	box.WantLogged(`what still runs after 1m20s`, 1)
	box.WantLogged(harness.KillLine, 0)
	box.WantNothingLeft()
}

func TestJobAsAKubeletRunsIt(t *testing.T) {
	t.Parallel()
	pod := readYAML(t, "job.yaml")
	box := startPod(t, pod)
	wantProbe(box, pod, "livenessProbe", true)
	box.Kill("TERM")
	box.WaitOut(`^got SIGTERM`)
	wantProbe(box, pod, "livenessProbe", true)
	box.Kill("USR1")
	box.WantExit(1) // the task's own: not done
	box.WantLogged(`what still runs after 1m`, 1)
	box.WantNothingLeft()
}
