package platform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"drainit/test/harness"
)

// These are the fields of Kubernetes's manifests that the ones in platform/ have;
// another one is a slip of the pen. They are those of apps/v1 and batch/v1.
type (
	manifest struct {
		APIVersion string     `json:"apiVersion"`
		Kind       string     `json:"kind"`
		Metadata   objectMeta `json:"metadata"`
		Spec       struct {
			Replicas int `json:"replicas"`
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
			Strategy struct {
				Type          string `json:"type"`
				RollingUpdate struct {
					MaxUnavailable int `json:"maxUnavailable"`
					MaxSurge       int `json:"maxSurge"`
				} `json:"rollingUpdate"`
			} `json:"strategy"`
			BackoffLimit            int `json:"backoffLimit"`
			ActiveDeadlineSeconds   int `json:"activeDeadlineSeconds"`
			TTLSecondsAfterFinished int `json:"ttlSecondsAfterFinished"`
			PodFailurePolicy        struct {
				Rules []failureRule `json:"rules"`
			} `json:"podFailurePolicy"`
			Template struct {
				Metadata objectMeta `json:"metadata"`
				Spec     podSpec    `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
	}
	objectMeta struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels"`
	}
	failureRule struct {
		Action          string `json:"action"`
		OnPodConditions []struct {
			Type string `json:"type"`
		} `json:"onPodConditions"`
		OnExitCodes struct {
			ContainerName string `json:"containerName"`
			Operator      string `json:"operator"`
			Values        []int  `json:"values"`
		} `json:"onExitCodes"`
	}
	podSpec struct {
		RestartPolicy                 string `json:"restartPolicy"`
		TerminationGracePeriodSeconds int    `json:"terminationGracePeriodSeconds"`
		AutomountServiceAccountToken  *bool  `json:"automountServiceAccountToken"`
		SecurityContext               struct {
			RunAsNonRoot   bool `json:"runAsNonRoot"`
			RunAsUser      int  `json:"runAsUser"`
			RunAsGroup     int  `json:"runAsGroup"`
			SeccompProfile struct {
				Type string `json:"type"`
			} `json:"seccompProfile"`
		} `json:"securityContext"`
		Containers []podContainer `json:"containers"`
	}
	podContainer struct {
		Name    string   `json:"name"`
		Image   string   `json:"image"`
		Command []string `json:"command"`
		Args    []string `json:"args"`
		Env     []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"env"`
		Ports []struct {
			Name          string `json:"name"`
			ContainerPort int    `json:"containerPort"`
		} `json:"ports"`
		ReadinessProbe probe `json:"readinessProbe"`
		LivenessProbe  probe `json:"livenessProbe"`
		Lifecycle      struct {
			PreStop struct {
				Exec execAction `json:"exec"`
			} `json:"preStop"`
		} `json:"lifecycle"`
		TerminationMessagePolicy string `json:"terminationMessagePolicy"`
		Resources                struct {
			Requests map[string]string `json:"requests"`
			Limits   map[string]string `json:"limits"`
		} `json:"resources"`
		SecurityContext struct {
			ReadOnlyRootFilesystem   bool  `json:"readOnlyRootFilesystem"`
			AllowPrivilegeEscalation *bool `json:"allowPrivilegeEscalation"`
			Capabilities             struct {
				Drop []string `json:"drop"`
			} `json:"capabilities"`
		} `json:"securityContext"`
	}
	execAction struct {
		Command []string `json:"command"`
	}
	probe struct {
		HTTPGet struct {
			Path string  `json:"path"`
			Port portRef `json:"port"`
		} `json:"httpGet"`
		Exec             execAction `json:"exec"`
		PeriodSeconds    int        `json:"periodSeconds"`
		TimeoutSeconds   int        `json:"timeoutSeconds"`
		FailureThreshold int        `json:"failureThreshold"`
	}
)

// portRef is the name of a port or its number.
type portRef string

func (p *portRef) UnmarshalJSON(b []byte) error {
	var name string
	if err := json.Unmarshal(b, &name); err == nil {
		*p = portRef(name)
		return nil
	}
	var number uint16
	err := json.Unmarshal(b, &number)
	*p = portRef(strconv.Itoa(int(number)))
	return err
}

// asJSON is a file with one YAML document, as JSON.
func asJSON(t *testing.T, path string) []byte {
	t.Helper()
	harness.Need(t, "python3")
	if err := exec.Command("python3", "-c", "import yaml").Run(); err != nil {
		harness.Skip(t, "needs the Python module yaml")
	}
	text, err := exec.Command("python3", "-c", "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)", path).Output()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return text
}

// readManifest reads a manifest of one pod with one container.
func readManifest(t *testing.T, path string) (m manifest, c podContainer) {
	t.Helper()
	strict := json.NewDecoder(bytes.NewReader(asJSON(t, path)))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&m); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if n := len(m.Spec.Template.Spec.Containers); n != 1 {
		t.Fatalf("%s has %d containers", path, n)
	}
	return m, m.Spec.Template.Spec.Containers[0]
}

// flagIn is the value that follows a flag on a command line, or the default.
func flagIn(command []string, name, otherwise string) string {
	if at := slices.Index(command, name); at >= 0 {
		return command[at+1]
	}
	return otherwise
}

// seconds reads a duration such as 80s.
func seconds(t *testing.T, text string) int {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return int(d.Seconds())
}

// grace is what drainit's will be, by the flag or by the environment.
func (c podContainer) grace() string {
	grace := "30s"
	for _, variable := range c.Env {
		if variable.Name == "DRAINIT_GRACE" {
			grace = variable.Value
		}
	}
	return flagIn(c.Command, "--grace", grace)
}

// soundManifest reads a manifest and checks what it is, and what must be true of every one.
func soundManifest(t *testing.T, path, apiVersion, kind string) (m manifest, c podContainer) {
	t.Helper()
	m, c = readManifest(t, path)
	m.wantSound(t, c)
	if m.APIVersion != apiVersion || m.Kind != kind {
		t.Errorf("%s %s", m.APIVersion, m.Kind)
	}
	return m, c
}

// wantSound checks what must be true of every manifest of a worker.
func (m manifest) wantSound(t *testing.T, c podContainer) {
	t.Helper()
	pod := m.Spec.Template.Spec
	wait := seconds(t, flagIn(c.Lifecycle.PreStop.Exec.Command, "--sleep", "0s"))
	if need := wait + seconds(t, c.grace()) + 10; pod.TerminationGracePeriodSeconds < need {
		t.Errorf("terminationGracePeriodSeconds %d, want at least %d", pod.TerminationGracePeriodSeconds, need)
	}
	if slices.Contains(c.Command, "stop") || slices.Contains(c.Lifecycle.PreStop.Exec.Command, "stop") {
		t.Error("the platform's TERM must be the first")
	}
	user, own := pod.SecurityContext, c.SecurityContext
	if !user.RunAsNonRoot || user.RunAsUser == 0 || user.RunAsGroup == 0 || user.SeccompProfile.Type != "RuntimeDefault" {
		t.Errorf("the pod's securityContext: %+v", user)
	}
	if !own.ReadOnlyRootFilesystem || own.AllowPrivilegeEscalation == nil || *own.AllowPrivilegeEscalation || !slices.Equal(own.Capabilities.Drop, []string{"ALL"}) {
		t.Errorf("the container's securityContext: %+v", own)
	}
	if len(c.Command) == 0 || c.Command[0] != "/drainit" || c.Command[len(c.Command)-1] != "--" || len(c.Args) == 0 {
		t.Errorf("drainit is not in front of the worker: %q %q", c.Command, c.Args)
	}
	if c.Resources.Requests["cpu"] == "" || c.Resources.Requests["memory"] == "" || c.Resources.Limits["memory"] == "" {
		t.Errorf("resources: %+v", c.Resources)
	}
}

func TestDeploymentIsSound(t *testing.T) {
	t.Parallel()
	m, c := soundManifest(t, "deployment.yaml", "apps/v1", "Deployment")
	if !maps.Equal(m.Spec.Selector.MatchLabels, m.Spec.Template.Metadata.Labels) {
		t.Errorf("selects %v, and labels with %v", m.Spec.Selector.MatchLabels, m.Spec.Template.Metadata.Labels)
	}
	if update := m.Spec.Strategy; update.Type != "RollingUpdate" || update.RollingUpdate.MaxUnavailable+update.RollingUpdate.MaxSurge == 0 {
		t.Errorf("no update can begin: %+v", update)
	}
	ready, alive := c.ReadinessProbe.HTTPGet, c.LivenessProbe.HTTPGet
	if ready.Path != "/readyz" || alive.Path != "/healthz" {
		t.Errorf("the probes ask %q and %q", ready.Path, alive.Path)
	}
	if addr := flagIn(c.Command, "--health-addr", ""); len(c.Ports) != 1 || addr != fmt.Sprintf(":%d", c.Ports[0].ContainerPort) {
		t.Errorf("drainit listens on %q, the ports are %v", addr, c.Ports)
	}
	if len(c.Ports) != 1 || string(ready.Port) != c.Ports[0].Name || alive.Port != ready.Port {
		t.Errorf("the probes ask %q and %q, the ports are %v", ready.Port, alive.Port, c.Ports)
	}
}

func TestJobIsSound(t *testing.T) {
	t.Parallel()
	m, c := soundManifest(t, "job.yaml", "batch/v1", "Job")
	pod := m.Spec.Template.Spec
	if pod.RestartPolicy != "Never" || m.Spec.BackoffLimit == 0 || m.Spec.ActiveDeadlineSeconds <= pod.TerminationGracePeriodSeconds {
		t.Errorf("restartPolicy %s, backoffLimit %d, activeDeadlineSeconds %d", pod.RestartPolicy, m.Spec.BackoffLimit, m.Spec.ActiveDeadlineSeconds)
	}
	rules := m.Spec.PodFailurePolicy.Rules
	if len(rules) != 2 || rules[0].Action != "Ignore" || rules[0].OnPodConditions[0].Type != "DisruptionTarget" ||
		rules[1].Action != "FailJob" || rules[1].OnExitCodes.Operator != "In" || rules[1].OnExitCodes.ContainerName != c.Name {
		t.Errorf("podFailurePolicy: %+v", rules)
	}
	// What never gets better, and nothing that another attempt may mend.
	if values := rules[1].OnExitCodes.Values; !slices.Equal(values, []int{126, 127}) {
		t.Errorf("a Job fails for good with %v", values)
	}
	if probe := c.LivenessProbe.Exec.Command; !slices.Equal(probe, []string{"/drainit", "status"}) {
		t.Errorf("the liveness probe is %q", probe)
	}
}

// The image of the manifests is the one that Dockerfile.example builds.
func TestManifestsFitTheExampleImage(t *testing.T) {
	t.Parallel()
	dockerfile, err := os.ReadFile(harness.Repo("Dockerfile.example"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"deployment.yaml", "job.yaml"} {
		m, c := readManifest(t, path)
		for _, program := range []string{c.Command[0], c.Args[0]} {
			if !strings.Contains(string(dockerfile), "-o /out"+program+" ") {
				t.Errorf("%s: Dockerfile.example makes no %s", path, program)
			}
		}
		if c.Image != strings.TrimPrefix(harness.Image, "localhost/") || m.Spec.Template.Spec.SecurityContext.RunAsUser != harness.AnyUser {
			t.Errorf("%s: the image %s is not the one that is tested, or its user", path, c.Image)
		}
	}
}
