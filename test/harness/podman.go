package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"drainit/test/harness/cgroup"
)

// Podman is podman with a store and settings of its own.
type Podman struct {
	T     *testing.T
	Dir   string
	uid   int      // who calls it, if not root
	flags []string // that each call begins with
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
	t.Helper()
	NeedRoot(t)
	Need(t, "podman", "conmon", "runc")
	dir, err := os.MkdirTemp("", "podman-") // t.TempDir's names are too long for a socket
	Must(t, err)
	WriteFile(t, filepath.Join(dir, "containers.conf"), fmt.Appendf(nil, podmanConf, containers, engine))
	Must(t, os.Chown(dir, uid, uid))
	e := Podman{t, dir, uid, []string{
		"--root", filepath.Join(dir, "root"), "--runroot", filepath.Join(dir, "run"), "--tmpdir", filepath.Join(dir, "tmp"),
		"--storage-driver", "vfs",
	}}
	t.Cleanup(e.end)
	e.load()
	return e
}

// load makes the image.
func (e Podman) load() {
	e.T.Helper()
	busybox := StaticBusybox(e.T)
	Must(e.T, Feed(e.Command("import", "-", Image), func(r *Rootfs) {
		r.Copy("drainit", DrainitBin)
		r.Copy("worker", WorkerBin)
		r.Copy("bin/busybox", busybox)
	}))
}

// end removes all that this podman has, and its cgroups.
func (e Podman) end() {
	pods, err := e.Command("pod", "ps", "--quiet", "--no-trunc").Output()
	if err != nil {
		e.T.Errorf("podman pod ps: %v", err)
	}
	for _, args := range [][]string{{"pod", "rm", "--force", "--all", "--time", "0"}, {"rm", "--force", "--all", "--time", "0"}} {
		if out, err := e.Command(args...).CombinedOutput(); err != nil {
			e.T.Errorf("podman %s: %v\n%s", args, err, out)
		}
	}
	e.endPause()
	RemoveCgroups(e.T, e.Cgroup())
	for _, pod := range strings.Fields(string(pods)) { // where kube play makes them
		RemoveCgroups(e.T, "/libpod_parent/"+pod)
	}
	if err := os.RemoveAll(e.Dir); err != nil {
		e.T.Error(err)
	}
}

// Cgroup is above those of the containers.
func (e Podman) Cgroup() string { return "/" + filepath.Base(e.Dir) }

// Command is a call of podman, as its user.
func (e Podman) Command(args ...string) *exec.Cmd {
	cmd := exec.Command("podman", append(slices.Clone(e.flags), args...)...)
	cmd.Env = append(os.Environ(), "CONTAINERS_CONF="+filepath.Join(e.Dir, "containers.conf"))
	if e.uid != 0 {
		cmd.Env = append(cmd.Env, "HOME="+e.Dir, "XDG_RUNTIME_DIR="+e.Dir)
		cmd.Dir = e.Dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(e.uid), Gid: uint32(e.uid)}}
	}
	return cmd
}

// Ask runs a command of podman's that must succeed and have nothing to complain
// of, and returns what it prints.
func (e Podman) Ask(args ...string) string {
	e.T.Helper()
	cmd := e.Command(args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		e.T.Fatalf("podman %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// Run starts a container and stays attached to it: the Init is what it prints,
// and its exit status. flags are podman's.
func (e Podman) Run(name string, flags []string, command ...string) *Init {
	e.T.Helper()
	p := NewInit(e.T)
	args := append(append([]string{"run", "--env", p.Marker}, e.RunFlags(name)...), flags...)
	p.Cmd = e.Command(append(append(args, Image), command...)...)
	p.Start(nil, nil)
	return p
}

// RunFlags are those of each container. The host's network needs no set-up.
func (e Podman) RunFlags(name string) []string {
	flags := []string{"--name", name, "--network", "host"}
	if e.uid != 0 { // a user may not make any
		return flags
	}
	return append(flags, "--cgroup-parent", e.Cgroup())
}

// Exec runs a command in a container and waits for its end.
func (e Podman) Exec(name string, command ...string) Ran {
	e.T.Helper()
	p := NewInit(e.T)
	p.Cmd = e.Command(append([]string{"exec", "--env", p.Marker, name}, command...)...)
	p.Start(nil, nil)
	return Ran{p.Wait(), p.Out(), p.Err()}
}

// endPodman removes what all podmans share, when no test needs it any more, unless it is
// in use by one that is not the tests'.
func endPodman() {
	for _, path := range []string{"/libpod_parent/conmon", "/libpod_parent"} {
		for _, dir := range cgroup.At(path) {
			_ = os.Remove(dir)
		}
	}
}

// endPause ends the process with which podman holds a user's namespaces.
func (e Podman) endPause() {
	text, err := os.ReadFile(filepath.Join(e.Dir, "tmp/pause.pid"))
	if err != nil {
		return // root needs none
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		e.T.Error(err)
	}
}
