package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"drainit/test/harness/cgroup"
)

// ociConfig is the least that runc makes a container of, whose worker says when its first instruction ran.
const ociConfig = `{"ociVersion": "1.0.2", "root": {"path": "rootfs"},
	"process": {"user": {"uid": 0, "gid": 0}, "args": ["/first"], "env": ["PATH=/"], "cwd": "/"},
	"mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
		{"destination": "/dev", "type": "tmpfs", "source": "tmpfs"}],
	"linux": {"namespaces": [{"type": "pid"}, {"type": "mount"}], "cgroupsPath": "CGROUP"}}`

// measureRuntime takes the time of runc's calls: by itself, in the column of no init, and below drainit as a
// runtime, which it starts the container with.
func (b *bench) measureRuntime() {
	runc, err := exec.LookPath("runc")
	if err != nil {
		fmt.Println("runc is not installed: the measure runtime is left out")
		return
	}
	above := filepath.Join(b.dir, "drainit-runtime")
	bundle, group := filepath.Join(b.dir, "bundle"), "/"+filepath.Base(b.dir)
	must(os.Symlink("drainit", above))
	must(os.MkdirAll(filepath.Join(bundle, "rootfs"), 0o755))
	must(os.Rename(writeFirst(b.dir), filepath.Join(bundle, "rootfs/first")))
	defer func() {
		for _, dir := range cgroup.At(group) {
			must(os.Remove(dir))
		}
	}()
	calls, begun, ended := make(series, len(b.inits)), make(series, len(b.inits)), make(series, len(b.inits))
	for range b.starts / 4 {
		for i, program := range map[int]string{noInit: runc, own: above} {
			_, took := timeStart([]string{program, "--version"}, false)
			calls[i] = append(calls[i], took)
			config := strings.Replace(ociConfig, "CGROUP", group, 1)
			must(os.WriteFile(filepath.Join(bundle, "config.json"), []byte(config), 0o644))
			start, end := timeStart([]string{program, "--root", b.dir + "/runc", "run", "--preserve-fds", "1",
				"--bundle", bundle, "bench"}, false)
			ended[i] = append(ended[i], end)
			if start > 0 {
				begun[i] = append(begun[i], start)
			}
		}
	}
	b.runtimeTimes("a call of runc (no init), and by drainit-runtime, p50", calls)
	b.runtimeTimes("runc run to the worker's first instruction, p50", begun)
	b.runtimeTimes("runc run to its end, p50", ended)
}

// runtimeTimes adds a row with the times of runc and of drainit as a runtime.
func (b *bench) runtimeTimes(name string, s series) {
	v := b.figures()
	for _, i := range []int{noInit, own} {
		if len(s[i]) == 0 {
			return // the worker says no time on this architecture
		}
		v[i] = float64(quantile(s[i], 0.5)) / float64(time.Millisecond)
	}
	b.values(name, "ms", v)
}
