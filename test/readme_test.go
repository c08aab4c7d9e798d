package test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// readmeText is the README.
func readmeText(t *testing.T) string {
	t.Helper()
	return textOf(t, "../README.md")
}

// verificationText is the page of the docs with what the tests print.
func verificationText(t *testing.T) string {
	t.Helper()
	return textOf(t, "../docs/verification.md")
}

// readmeBlock is the first block of code in a section of the README.
func readmeBlock(t *testing.T, section, language string) string {
	t.Helper()
	_, text, _ := strings.Cut(readmeText(t), "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	block := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(text)
	if block == nil {
		t.Fatalf("no %s in the README's section %s", language, section)
	}
	return block[1]
}

// readmeFile is a block of the README as a file.
func readmeFile(t *testing.T, section string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), section+".yaml")
	writeFile(t, path, []byte(readmeBlock(t, section, "yaml")))
	return path
}

// podEnd is what of a manifest the end of its pod depends upon.
type podEnd struct {
	apiVersion, kind              string
	terminationGracePeriodSeconds int
	command, preStop              []string
	env                           map[string]string
	ready, alive                  probe
}

func (m manifest) end(c podContainer) podEnd {
	env := make(map[string]string)
	for _, variable := range c.Env {
		env[variable.Name] = variable.Value
	}
	return podEnd{
		m.APIVersion, m.Kind, m.Spec.Template.Spec.TerminationGracePeriodSeconds,
		c.Command, c.Lifecycle.PreStop.Exec.Command, env, c.inFull(c.ReadinessProbe), c.inFull(c.LivenessProbe),
	}
}

// inFull is a probe with Kubernetes's defaults, and the number of its port.
func (c podContainer) inFull(p probe) probe {
	p.PeriodSeconds, p.TimeoutSeconds, p.FailureThreshold = cmp.Or(p.PeriodSeconds, 10), cmp.Or(p.TimeoutSeconds, 1), cmp.Or(p.FailureThreshold, 3)
	for _, port := range c.Ports {
		if string(p.HTTPGet.Port) == port.Name {
			p.HTTPGet.Port = portRef(fmt.Sprint(port.ContainerPort))
		}
	}
	return p
}

// The Deployment to copy ends as the one does whose commands the tests run.
func TestREADMEsDeploymentIsTheTestedOne(t *testing.T) {
	t.Parallel()
	m, c := readManifest(t, readmeFile(t, "Kubernetes"))
	tested, itsContainer := readManifest(t, "platform/deployment.yaml")
	if got, want := m.end(c), tested.end(itsContainer); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nin platform/deployment.yaml:\n%+v", got, want)
	}
	if labels := m.Spec.Template.Metadata.Labels; len(labels) == 0 || !maps.Equal(m.Spec.Selector.MatchLabels, labels) {
		t.Errorf("selects %v, and labels with %v", m.Spec.Selector.MatchLabels, labels)
	}
	if len(c.Args) == 0 || c.Name == "" || c.Image == "" || m.Metadata.Name == "" {
		t.Errorf("no worker, image or name: %+v", c)
	}
}

// composed is a service of Compose's, with the keys that the ones in platform/ have.
type composed struct {
	Image           string            `json:"image"`
	Entrypoint      []string          `json:"entrypoint"`
	Command         []string          `json:"command"`
	Environment     map[string]string `json:"environment"`
	StopSignal      string            `json:"stop_signal"`
	StopGracePeriod string            `json:"stop_grace_period"`
	Healthcheck     struct {
		Test     []string `json:"test"`
		Interval string   `json:"interval"`
		Timeout  string   `json:"timeout"`
		Retries  int      `json:"retries"`
	} `json:"healthcheck"`
	Restart   string `json:"restart"`
	TTY       bool   `json:"tty"`
	StdinOpen bool   `json:"stdin_open"`
}

// readCompose reads a file's service worker.
func readCompose(t *testing.T, path string) composed {
	t.Helper()
	var file struct {
		Services map[string]composed `json:"services"`
	}
	strict := json.NewDecoder(bytes.NewReader(asJSON(t, path)))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return file.Services["worker"]
}

// The service to copy has the keys of the one that the tests run, but for those that
// have nothing to do with drainit.
func TestREADMEsServiceIsTheTestedOne(t *testing.T) {
	t.Parallel()
	got, want := readCompose(t, readmeFile(t, "Compose")), readCompose(t, "platform/compose.yaml")
	if got.Image == "" || len(got.Command) == 0 {
		t.Errorf("no worker: %+v", got)
	}
	got.Image, got.Command = want.Image, want.Command
	got.Restart = want.Restart
	got.Healthcheck.Interval, got.Healthcheck.Timeout, got.Healthcheck.Retries = want.Healthcheck.Interval, want.Healthcheck.Timeout, want.Healthcheck.Retries
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nin platform/compose.yaml:\n%+v", got, want)
	}
}

// What Compose itself has to say of it.
func TestComposeTakesREADMEsService(t *testing.T) {
	t.Parallel()
	need(t, "docker-compose")
	out, err := exec.Command("docker-compose", "--file", readmeFile(t, "Compose"), "config").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "stop_grace_period: ") {
		t.Errorf("docker-compose config: %v\n%s", err, out)
	}
}

// Links between the pages lead somewhere, to headings too, and the README stays short.
func TestPagesLinkToWhatIsThere(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("pages: %q, %v", pages, err)
	}
	for _, page := range append(pages, "../README.md") {
		for _, link := range regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`).FindAllStringSubmatch(textOf(t, page), -1) {
			to := page
			if link[1] != "" {
				to = filepath.Join(filepath.Dir(page), link[1])
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %v", page, err)
			} else if link[2] != "" && !slices.Contains(anchors(textOf(t, to)), link[2]) {
				t.Errorf("%s: %s has no heading %s", page, to, link[2])
			}
		}
	}
	if n := strings.Count(textOf(t, "../README.md"), "\n"); n > 250 {
		t.Errorf("the README has %d lines", n)
	}
}

func textOf(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// anchors are those of the headings of a page, as forges make them.
func anchors(page string) (all []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		name := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		all = append(all, "#"+strings.ReplaceAll(name, " ", "-"))
	}
	return all
}
