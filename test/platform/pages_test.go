package platform

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"drainit/test/harness"
)

// readmeFile is a block of the README as a file.
func readmeFile(t *testing.T, section string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), section+".yaml")
	harness.WriteFile(t, path, []byte(harness.ReadmeBlock(t, section, "yaml")))
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
	tested, itsContainer := readManifest(t, "deployment.yaml")
	if got, want := m.end(c), tested.end(itsContainer); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nin deployment.yaml:\n%+v", got, want)
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
	got, want := readCompose(t, readmeFile(t, "Compose")), readCompose(t, "compose.yaml")
	if got.Image == "" || len(got.Command) == 0 {
		t.Errorf("no worker: %+v", got)
	}
	got.Image, got.Command = want.Image, want.Command
	got.Restart = want.Restart
	got.Healthcheck.Interval, got.Healthcheck.Timeout, got.Healthcheck.Retries = want.Healthcheck.Interval, want.Healthcheck.Timeout, want.Healthcheck.Retries
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nin compose.yaml:\n%+v", got, want)
	}
}

// What Compose itself has to say of it.
func TestComposeTakesREADMEsService(t *testing.T) {
	t.Parallel()
	harness.Need(t, "docker-compose")
	out, err := exec.Command("docker-compose", "--file", readmeFile(t, "Compose"), "config").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "stop_grace_period: ") {
		t.Errorf("docker-compose config: %v\n%s", err, out)
	}
}
