package platform

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"drainit/test/harness"
	"drainit/test/harness/engines"
)

// inVolume makes the config.json of a container with a folder of this machine in place of a volume.
func inVolume(dir, mountPath string) func(string) string {
	return asImage(`"mounts": [`, `"mounts": [{"destination": "`+mountPath+
		`", "type": "bind", "source": "`+dir+`", "options": ["rbind"]},`)
}

// The container of an image that holds drainit and nothing else, as a kubelet runs it: it must end well.
func runInstaller(t *testing.T, dir, mountPath, command string) {
	t.Helper()
	volume := inVolume(dir, mountPath)
	with := func(config string) string { // drainit is in this image
		drainit := `{"destination": "/drainit", "type": "bind", "source": "` + harness.DrainitBin +
			`", "options": ["rbind", "ro"]},`
		return strings.Replace(volume(config), `"mounts": [`, `"mounts": [`+drainit, 1)
	}
	c := engines.NewRunc(t, "runc", with, strings.Fields(command))
	c.Init = harness.Run(t, harness.Launch{Cmd: c.Run})
	c.WantExit(0)
}

// Without access to nodes: what the init container has installed, or the volume of an image has, is the
// command.
func TestManifestsWithoutNodes(t *testing.T) {
	t.Parallel()
	for file, installer := range map[string]string{"shared-volume.yaml": "pod.initContainers[0]",
		"image-volume.yaml": ""} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			pod, dir := readYAML(t, file), filepath.Join(t.TempDir(), "volume")
			harness.Must(t, errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777)))
			if installer != "" {
				runInstaller(t, dir, pod[installer+".volumeMounts[0].mountPath"], pod[installer+".command"])
			} else {
				harness.OutputOf(t, exec.Command("cp", harness.DrainitBin, dir)) // the image's one file
			}
			command := pod["container.command"] + " " + pod["container.args"]
			command = strings.Replace(command, "-drain 5s", "-drain 300ms", 1)
			volume := inVolume(dir, pod["container.volumeMounts[0].mountPath"])
			c := engines.NewRunc(t, "runc", volume, strings.Fields(command))
			c.Init = harness.Run(t, harness.Launch{Cmd: c.Run})
			c.WaitOut(`^ready`)
			c.Kill("TERM")
			c.WantExit(0)
			wantLast(c.Init, "got SIGTERM", "drained")
			c.WantLogged("what still runs after 35s", 1)
		})
	}
}

// What the DaemonSet installs is where the stanzas look for it, and by it a container gets drainit. The
// classes name what the stanzas define.
func TestDaemonSetInstallsTheRuntime(t *testing.T) {
	t.Parallel()
	class, own, set := readDocument(t, "runtime.yaml", 0), readDocument(t, "runtime.yaml", 1),
		readDocument(t, "runtime.yaml", 2)
	dir := filepath.Join(t.TempDir(), "node")
	harness.Must(t, errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, 65532, 65532)))
	install := "pod.initContainers[0]."
	runInstaller(t, dir, set[install+"volumeMounts[0].mountPath"], set[install+"command"])
	c := engines.NewRunc(t, dir+"/drainit-runtime", asImage(), shell(startsAWorker))
	c.Init = harness.Run(t, harness.Launch{Cmd: c.Run})
	c.WaitOut(`^ready`)
	c.Kill("TERM")
	c.WantExit(7)
	wantLast(c.Init, "got SIGTERM", "drained")

	path := set["pod.volumes[0].hostPath.path"] + "/drainit-runtime"
	for file, want := range map[string]string{
		"containerd.toml": `\.runtimes\.` + class["handler"] + `\.options\]\nBinaryName = "` + path + `"\n`,
		"crio.conf":       `\.runtimes\.` + class["handler"] + `\]\nruntime_path = "` + path + `"\n`,
	} {
		if text := harness.TextOf(t, file); !harness.Matches(want, text) {
			t.Errorf("%s: %s, want %s", file, text, want)
		}
	}
	if set["pod.runtimeClassName"] != own["metadata.name"] || set["container.command"] != "/drainit --pause" {
		t.Errorf("%v, %v", own, set)
	}
}

// What the page has to copy is the stanza that the cluster of test/cmd/rollout has.
func TestPagesStanzaIsTheTestedOne(t *testing.T) {
	t.Parallel()
	block := harness.PageBlock(t, harness.Repo("docs/kubernetes.md"), "On the nodes", "toml")
	page := strings.TrimSpace(strings.ReplaceAll("\n"+block, "\n   ", "\n"))
	_, file, _ := strings.Cut(harness.TextOf(t, "containerd.toml"), "containerd\n")
	if page != strings.TrimSpace(file) {
		t.Errorf("the page has\n%s\nand containerd.toml\n%s", page, file)
	}
}

// Without drainit the kernel keeps the signal from PID 1, so that a job without a handler may end in time. It
// goes on here, too, unless the container asks for another.
func TestRuntimeAboveACommandWithoutAHandler(t *testing.T) {
	t.Parallel()
	command := shell("echo ready; /busybox sleep 1; echo over; exec /busybox sleep 1000")
	c := startImage(t, asImage(), command...)
	c.WaitOut(`^ready`)
	c.Kill("TERM")
	c.WaitOut(`^over`)
	c.Exec("/drainit", "stop", "--force") // which is killed, too
	c.WantExit(137)
	c = startImage(t, asImage(`"env": [`, `"env": ["DRAINIT_FORWARD=auto", `), command...)
	c.WaitOut(`^ready`)
	c.Kill("TERM")
	c.WantExit(143)
}
