// Package engines runs Docker, podman and runc for the tests, and makes what they run.
package engines

import (
	"debug/elf"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"drainit/test/harness"
	"drainit/test/harness/cgroup"
)

// Podman is a storage and a state of podman that are the tests' own.
type Podman struct {
	T   *testing.T
	Dir string
	uid int // who calls it, if not root
}

// Image is the one that StartPodman makes: drainit, a worker and busybox, and
// nothing else.
const Image = "localhost/worker:1.0"

// A machine without systemd has no journal and no scopes; and crun, which
// podman takes by default, does not run on every one that runc runs on.
const podmanConf = `
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=32768:32768"]
log_driver = "k8s-file"
%s
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
runtime = "runc"
%s
`

// StartPodman makes a store with the image in it, for a user. The texts are lines for
// containers.conf, in its sections of the containers and of the engine.
func StartPodman(t *testing.T, uid int, containers, engine string) Podman {
	harness.NeedRoot(t)
	harness.Need(t, "podman", "conmon", "runc")
	busybox := staticBusybox(t)
	dir, err := os.MkdirTemp("", "podman-") // t.TempDir's names are too long for a socket
	harness.Must(t, err)
	harness.WriteFile(t, filepath.Join(dir, "containers.conf"), fmt.Sprintf(podmanConf, containers, engine))
	harness.Must(t, os.Chown(dir, uid, uid))
	e := Podman{t, dir, uid}
	t.Cleanup(e.end)
	endPodman()
	Feed(t, e.Command("import", "-", Image), func(r *Rootfs) {
		r.Copy("drainit", harness.DrainitBin)
		r.Copy("worker", harness.WorkerBin)
		r.Copy("bin/busybox", busybox)
	})
	return e
}

// end removes all that this podman has, and its cgroups.
func (e Podman) end() {
	pods := harness.OutputOf(e.T, e.Command("pod", "ps", "--quiet", "--no-trunc"))
	for _, kind := range [][]string{{"pod", "rm"}, {"rm"}} {
		harness.OutputOf(e.T, e.Command(append(kind, "--force", "--all", "--time", "0")...))
	}
	// The process with which podman holds a user's namespaces. Root needs none.
	if text, err := os.ReadFile(filepath.Join(e.Dir, "tmp/pause.pid")); err == nil {
		harness.Kill(e.T, harness.Number(e.T, string(text)), syscall.SIGKILL)
	}
	harness.RemoveCgroups(e.T, e.Cgroup())
	for pod := range strings.FieldsSeq(pods) { // where kube play makes them
		harness.RemoveCgroups(e.T, "/libpod_parent/"+pod)
	}
	harness.Must(e.T, os.RemoveAll(e.Dir))
}

// Cgroup is the cgroup below which its containers are, as a path below a hierarchy.
func (e Podman) Cgroup() string { return "/" + filepath.Base(e.Dir) }

// Command is a call of podman, as its user.
func (e Podman) Command(args ...string) *exec.Cmd {
	cmd := exec.Command("podman", append([]string{"--root", e.Dir + "/root", "--runroot", e.Dir + "/run",
		"--tmpdir", e.Dir + "/tmp",
		"--storage-driver", "vfs"}, args...)...)
	cmd.Env = append(os.Environ(), "CONTAINERS_CONF="+filepath.Join(e.Dir, "containers.conf"))
	if e.uid != 0 {
		cmd.Env = append(cmd.Env, "HOME="+e.Dir, "XDG_RUNTIME_DIR="+e.Dir)
		cmd.Dir = e.Dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(e.uid),
			Gid: uint32(e.uid)}}
	}
	return cmd
}

// Ask runs a command of podman's that must succeed and have nothing to complain
// of, and returns what it prints.
func (e Podman) Ask(args ...string) string {
	e.T.Helper()
	r := harness.Finish(e.T, e.Command(args...))
	if r.Status != 0 || r.Err != "" {
		e.T.Fatalf("podman %q: %+v", args, r)
	}
	return strings.TrimSpace(r.Out)
}

// Run starts a container and stays attached to it: the Init is what it prints,
// and its exit status. flags are podman's. The host's network needs no set-up.
func (e Podman) Run(name string, flags []string, command ...string) *harness.Init {
	run := []string{"run", "--name", name, "--network", "host"}
	if e.uid == 0 { // a user may not make any
		run = append(run, "--cgroup-parent", e.Cgroup())
	}
	return harness.Run(e.T, harness.Launch{Cmd: func(marker string) *exec.Cmd {
		return e.Command(slices.Concat(run, []string{"--env", marker}, flags, []string{Image}, command)...)
	}})
}

// Exec runs podman exec to its end.
func (e Podman) Exec(args ...string) harness.Ran {
	e.T.Helper()
	return harness.Finish(e.T, e.Command(append([]string{"exec"}, args...)...))
}

// endPodman removes what all podmans share, when no test needs it any more, unless it is in use by one that
// is not the tests'.
var endPodman = sync.OnceFunc(func() {
	harness.AtEnd(func() error {
		for _, path := range []string{"/libpod_parent/conmon", "/libpod_parent"} {
			for _, dir := range cgroup.At(path) {
				_ = os.Remove(dir)
			}
		}
		return nil
	})
})

// started numbers the containers.
var started atomic.Int64

// RuncContainer is a running container; as an Init, what `runc run` prints and
// returns, which is what PID 1 does.
type RuncContainer struct {
	*harness.Init
	Bundle  string
	program string // runc, or a runtime above it
	state   string // runc's folder
	id      string
}

// anyUser is the user and group of every container here.
const anyUser = 65532

// StartRunc starts a container of runc's as Kubernetes would make it of a strict manifest: an image with
// nothing in it but what is bound into it, a read-only root, a user that is not root, no capabilities, a
// network of its own. /drainit, /worker and /busybox are in it. args are PID 1's.
func StartRunc(t *testing.T, args []string, env ...string) RuncContainer {
	c := NewRunc(t, "runc", func(config string) string { return config }, args, env...)
	c.Init = harness.Run(t, harness.Launch{Cmd: func(marker string) *exec.Cmd { return c.Run(marker) }})
	return c
}

// NewRunc makes a container as StartRunc does, which is not created yet, for a runtime above runc. edit may
// change its config.json.
func NewRunc(t *testing.T, program string, edit func(config string) string, args []string,
	env ...string) RuncContainer {
	harness.NeedRoot(t)
	harness.Need(t, "runc")
	busybox, dir := staticBusybox(t), t.TempDir()
	c := RuncContainer{&harness.Init{T: t}, filepath.Join(dir, "bundle"), program,
		filepath.Join(dir, "state"), fmt.Sprintf("draintest-%d-%d", os.Getpid(), started.Add(1))}
	harness.Must(t, os.MkdirAll(filepath.Join(c.Bundle, "rootfs"), 0o755))
	// Registered first, so that it comes after the end of what runc has started.
	t.Cleanup(func() { harness.OutputOf(t, c.Call("delete", "--force")) })
	command, err := json.Marshal(args)
	variables, err2 := json.Marshal(append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "MARKER"}, env...))
	harness.Must(t, errors.Join(err, err2))
	config := strings.NewReplacer("USER", fmt.Sprint(anyUser), "ARGS", string(command),
		"ENV", string(variables), "DRAINIT", harness.DrainitBin, "WORKER", harness.WorkerBin,
		"BUSYBOX", busybox, "CGROUP", "/"+c.id).Replace(runcConfig)
	harness.WriteFile(t, c.config(), edit(config))
	return c
}

func (c RuncContainer) config() string { return filepath.Join(c.Bundle, "config.json") }

// Run is a call that runs the container, with a marker in its environment.
func (c RuncContainer) Run(marker string) *exec.Cmd { return c.making("run", marker) }

// Create is one that creates it.
func (c RuncContainer) Create() *exec.Cmd { return c.making("create", harness.NewMarker()) }

func (c RuncContainer) making(command, marker string) *exec.Cmd {
	config, err := os.ReadFile(c.config())
	if err == nil {
		err = os.WriteFile(c.config(), []byte(strings.Replace(string(config), "MARKER", marker, 1)), 0o644)
	}
	if err != nil {
		panic(err)
	}
	return c.Call(command, "--bundle", c.Bundle)
}

// Call is any call for the container: its id stands behind the words.
func (c RuncContainer) Call(words ...string) *exec.Cmd { return c.runc(append(words, c.id)...) }

func (c RuncContainer) runc(args ...string) *exec.Cmd {
	return exec.Command(c.program, append([]string{"--root", c.state}, args...)...)
}

// runcConfig is a config.json of the OCI runtime specification. The mounts are the least that an image needs,
// and the programs.
//
//go:embed runc.json
var runcConfig string

// Exec starts a process in the container, as a hook or a probe of Kubernetes is
// started: it has no parent there.
func (c RuncContainer) Exec(command ...string) *harness.Init {
	c.T.Helper()
	return harness.Run(c.T, harness.Launch{Cmd: func(marker string) *exec.Cmd {
		return c.runc(append([]string{"exec", "--env", marker, c.id}, command...)...)
	}})
}

// Kill sends a signal, by its name, to the container's PID 1. It must succeed.
func (c RuncContainer) Kill(signal string) {
	c.T.Helper()
	harness.OutputOf(c.T, c.runc("kill", c.id, signal))
}

// staticBusybox is where a busybox is that runs in an image with nothing else in it.
func staticBusybox(t *testing.T) string {
	path := harness.PathOf(t, "busybox")
	program, err := elf.Open(path)
	harness.Must(t, err)
	defer program.Close()
	if slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		harness.Skip(t, "needs a static busybox (apt-get install busybox-static)")
	}
	return path
}
