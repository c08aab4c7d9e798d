package platform

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"drainit/test/harness"
	"drainit/test/harness/engines"
)

// worker is a start script without exec, and the job that it starts.
const (
	startScript = "#!/bin/sh\n/job.sh\necho \"the job has left: $?\"\n"
	jobScript   = "#!/bin/sh\ntrap : TERM\necho 'a job of 3 s begins'\nfor i in 1 2 3 4 5 6; do sleep " +
		"0.5; done\necho 'the job is done'\n"
)

// What a person sees of docker stop, under tini and under drainit, is in docs/docker-stop.txt: each
// command of that page is run. The container has no network here, and a stop waits until its job has
// begun.
func TestDockerStopAsThePageShowsIt(t *testing.T) {
	t.Parallel()
	d := engines.Docker(t)
	d.ImportImage(t, "worker", []string{`CMD ["/start.sh"]`}, func(r *engines.Rootfs) {
		r.Busybox()
		r.Copy("/drainit", harness.DrainitBin)
		r.Text("/start.sh", startScript)
		r.Text("/job.sh", jobScript)
	})
	page := harness.TextOf(t, harness.Repo("docs", "docker-stop.txt"))
	changing := regexp.MustCompile(`\[\d+\]|\d+\.\ds`)
	var got strings.Builder
	for line := range strings.Lines(page) {
		command, ok := strings.CutPrefix(line, "$ ")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			got.WriteString(line)
		} else if ok {
			got.WriteString(line)
			command = strings.Replace(command, "docker run", "docker run --network none --pull never", 1)
			command = strings.Replace(command, "docker stop",
				"until docker logs worker | grep -q begins; do sleep 0.1; done; docker stop", 1)
			cmd := exec.Command("sh", "-c", command)
			cmd.Env = append(cmd.Environ(), d.Env()...)
			if out := harness.OutputOf(t, cmd); out != "" {
				got.WriteString(out + "\n")
			}
		}
	}
	unchanging := func(text string) string { return changing.ReplaceAllString(text, "…") }
	if got, want := unchanging(got.String()), unchanging(page); got != want {
		t.Errorf("docker says\n%s\nand docs/docker-stop.txt\n%s", got, want)
	}
}

// The step for a CI of docs/ci.md, as it stands there but for the image and its command: it
// passes where the job is kept, and fails, with the reason, where the worker dies of the signal.
func TestStepOfTheCI(t *testing.T) {
	t.Parallel()
	d := engines.Docker(t)
	d.ImportImage(t, "worker-in-ci", nil, func(r *engines.Rootfs) {
		r.Busybox()
		r.Copy("/drainit", harness.DrainitBin)
		r.Text("/worker.sh", "#!/bin/sh\ntrap 'sleep 1; exit 0' TERM\nwhile :; do sleep 3; done\n")
	})
	step := strings.TrimSpace(harness.PageBlock(t, harness.Repo("docs", "ci.md"),
		"The recipe", "sh"))
	for command, want := range map[string]string{
		"/worker.sh": `\Aa stop by SIGTERM: [^\n]*\n(?s:.*)\nsignals arrive: the stop took \d\.\ds\n\z`,
		"sleep 1000": `\Aa stop by SIGTERM: [^\n]*\n(?s:.*)\nloses work: the stop took \d\.\ds\n- ` +
			`sleep\[\d+\] has no SIGTERM handler: it died at once, [^\n]*\n\z`,
	} {
		filled := strings.NewReplacer("docker run", "docker run --network none --pull never",
			"example/worker", "worker-in-ci", "node worker.js", command).Replace(step)
		cmd := exec.Command("sh", "-c", filled)
		cmd.Env = append(cmd.Environ(), d.Env()...)
		out, err := cmd.Output()
		if !harness.Matches(want, string(out)) ||
			(err == nil) != strings.Contains(string(out), "\nsignals arrive") {
			t.Errorf("%s: %v\n%s", filled, err, out)
		}
	}
}
