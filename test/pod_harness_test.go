package test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// podman is podman with a store and settings of its own.
type podman struct {
	t     *testing.T
	dir   string
	uid   int      // who calls it, if not root
	flags []string // that each call begins with
}

// image is the one that startPodman makes: drainit, a worker and busybox, and
// nothing else.
const image = "localhost/worker:1.0"

// motto is what its file /motto holds.
const motto = "quiet, drain, stop\n"

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
`

// startPodman makes a store with the image in it. settings are lines of
// containers.conf, in its section of the containers.
func startPodman(t *testing.T, settings string) podman {
	t.Helper()
	return startPodmanOf(t, 0, settings)
}

// startPodmanOf is startPodman for a user.
func startPodmanOf(t *testing.T, uid int, settings string) podman {
	t.Helper()
	needRoot(t)
	need(t, "podman", "conmon", "runc", "busybox")
	dir, err := os.MkdirTemp("", "podman-") // t.TempDir's names are too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(dir, "containers.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, podmanConf, settings), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, uid, uid); err != nil {
		t.Fatal(err)
	}
	e := podman{t, dir, uid, []string{
		"--root", filepath.Join(dir, "root"), "--runroot", filepath.Join(dir, "run"), "--tmpdir", filepath.Join(dir, "tmp"),
		"--storage-driver", "vfs",
	}}
	t.Cleanup(e.end)
	e.load()
	return e
}

// configure adds lines to containers.conf, in its section of the engine.
func (e podman) configure(settings string) {
	e.t.Helper()
	conf := filepath.Join(e.dir, "containers.conf")
	before, err := os.ReadFile(conf)
	if err == nil {
		err = os.WriteFile(conf, fmt.Appendf(before, "%s\n", settings), 0o644)
	}
	if err != nil {
		e.t.Fatal(err)
	}
}

// load makes the image.
func (e podman) load() {
	e.t.Helper()
	files := map[string][]byte{"motto": []byte(motto)}
	for name, path := range map[string]string{"drainit": drainitBin, "worker": workerBin, "bin/busybox": pathOf(e.t, "busybox")} {
		program, err := os.ReadFile(path)
		if err != nil {
			e.t.Fatal(err)
		}
		files[name] = program
	}
	load := e.command("import", "-", image)
	load.Stdin = bytes.NewReader(tarOf(e.t, files))
	if out, err := load.CombinedOutput(); err != nil {
		e.t.Fatalf("cannot make the image: %v\n%s", err, out)
	}
}

// end removes all that this podman has, and its cgroups.
func (e podman) end() {
	pods, err := e.command("pod", "ps", "--quiet", "--no-trunc").Output()
	if err != nil {
		e.t.Errorf("podman pod ps: %v", err)
	}
	for _, args := range [][]string{{"pod", "rm", "--force", "--all", "--time", "0"}, {"rm", "--force", "--all", "--time", "0"}} {
		if out, err := e.command(args...).CombinedOutput(); err != nil {
			e.t.Errorf("podman %s: %v\n%s", args, err, out)
		}
	}
	e.endPause()
	removeCgroups(e.t, e.cgroup())
	for _, pod := range strings.Fields(string(pods)) { // where kube play makes them
		removeCgroups(e.t, "/libpod_parent/"+pod)
	}
	if err := os.RemoveAll(e.dir); err != nil {
		e.t.Error(err)
	}
}

// cgroup is above those of the containers.
func (e podman) cgroup() string { return "/" + filepath.Base(e.dir) }

// command is a call of podman, as its user.
func (e podman) command(args ...string) *exec.Cmd {
	cmd := exec.Command("podman", append(slices.Clone(e.flags), args...)...)
	cmd.Env = append(os.Environ(), "CONTAINERS_CONF="+filepath.Join(e.dir, "containers.conf"))
	if e.uid != 0 {
		cmd.Env = append(cmd.Env, "HOME="+e.dir, "XDG_RUNTIME_DIR="+e.dir)
		cmd.Dir = e.dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(e.uid), Gid: uint32(e.uid)}}
	}
	return cmd
}

// ask runs a command of podman's that must succeed and have nothing to complain
// of, and returns what it prints.
func (e podman) ask(args ...string) string {
	e.t.Helper()
	cmd := e.command(args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		e.t.Fatalf("podman %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// run starts a container and stays attached to it: the Init is what it prints,
// and its exit status. flags are podman's.
func (e podman) run(name string, flags []string, command ...string) *Init {
	e.t.Helper()
	p := newInit(e.t)
	args := append(append([]string{"run", "--env", p.marker}, e.runFlags(name)...), flags...)
	p.cmd = e.command(append(append(args, image), command...)...)
	p.start(nil, nil)
	return p
}

// runFlags are those of each container. The host's network needs no set-up.
func (e podman) runFlags(name string) []string {
	flags := []string{"--name", name, "--network", "host"}
	if e.uid != 0 { // a user may not make any
		return flags
	}
	return append(flags, "--cgroup-parent", e.cgroup())
}

// exec runs a command in a container and waits for its end.
func (e podman) exec(name string, command ...string) ran {
	e.t.Helper()
	p := newInit(e.t)
	p.cmd = e.command(append([]string{"exec", "--env", p.marker, name}, command...)...)
	p.start(nil, nil)
	return ran{p.wait(), p.out(), p.err()}
}

// tarOf is an image's only layer: the files by their names in it.
func tarOf(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, text := range files {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))})
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// cgroupsAt are the folders of a cgroup: the one of version 2, or one in each hierarchy
// of version 1 that has it.
func cgroupsAt(path string) (all []string) {
	for _, pattern := range []string{"/sys/fs/cgroup" + path, "/sys/fs/cgroup/*" + path} {
		found, _ := filepath.Glob(pattern) // fails for a bad pattern only
		all = append(all, found...)
	}
	return all
}

// endPodman removes what all podmans share, when no test needs it any more, unless it is
// in use by one that is not the tests'.
func endPodman() {
	for _, path := range []string{"/libpod_parent/conmon", "/libpod_parent"} {
		for _, cgroup := range cgroupsAt(path) {
			_ = os.Remove(cgroup)
		}
	}
}

// removeCgroups removes a cgroup that no process is in any more, and those below
// it, from each hierarchy that has it.
func removeCgroups(t *testing.T, path string) {
	t.Helper()
	for _, top := range cgroupsAt(path) {
		var all []string
		_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				all = append(all, path)
			}
			return nil // what has gone by itself is no error
		})
		for _, dir := range slices.Backward(all) {
			var failed error
			waitUntil(t, "the cgroup "+dir+" is empty", func() bool {
				failed = os.Remove(dir)
				return !errors.Is(failed, unix.EBUSY)
			})
			if failed != nil && !errors.Is(failed, fs.ErrNotExist) {
				t.Error(failed)
			}
		}
	}
}
