package test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Bundle is a container of runc's as Kubernetes would make it of a strict
// manifest: an image with nothing in it but what is bound into it, a read-only
// root, a user that is not root, no capabilities.
type Bundle struct {
	Args     []string // of PID 1
	Env      []string
	Binds    map[string]string // what is where in the container, read-only
	Writable map[string]string // the same, to be written
	Memory   int64             // its limit in bytes
	Loopback bool              // a network of its own, and not the host's
	TTY      *os.File          // its controlling terminal is a copy of this one
}

// runcContainer is a running container; as an Init, what `runc run` prints and
// returns, which is what PID 1 does.
type runcContainer struct {
	*Init
	state string // runc's folder
	id    string
}

// anyUser is the user and group of every container here.
const anyUser = 65532

// startRunc starts a container. /drainit and /worker are in it.
func startRunc(t *testing.T, b Bundle) runcContainer {
	t.Helper()
	needRoot(t)
	need(t, "runc")
	dir := t.TempDir()
	p := newInit(t)
	c := runcContainer{p, filepath.Join(dir, "state"), strings.NewReplacer("=", "-", ".", "-").Replace(strings.ToLower(p.marker))}
	if err := os.MkdirAll(filepath.Join(dir, "bundle/rootfs"), 0o755); err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(b.config(c.id, p.marker))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bundle/config.json"), config, 0o644); err != nil {
		t.Fatal(err)
	}
	// Registered first, so that it comes after the end of what p started.
	t.Cleanup(func() {
		if out, err := exec.Command("runc", "--root", c.state, "delete", "--force", c.id).CombinedOutput(); err != nil {
			t.Errorf("cannot delete the container: %v\n%s", err, out)
		}
	})
	p.cmd = exec.Command("runc", "--root", c.state, "run", "--bundle", filepath.Join(dir, "bundle"), c.id)
	if b.TTY != nil {
		p.cmd.Stdin = b.TTY
	}
	p.start(b.TTY, b.TTY)
	return c
}

// object is one of JSON's.
type object = map[string]any

// config is the config.json of the OCI runtime specification.
func (b Bundle) config(id, marker string) object {
	resources := object{"devices": []object{{"allow": false, "access": "rwm"}}}
	if b.Memory > 0 {
		resources["memory"] = object{"limit": b.Memory, "swap": b.Memory}
	}
	namespaces := []object{{"type": "pid"}, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}}
	if b.Loopback {
		namespaces = append(namespaces, object{"type": "network"})
	}
	return object{
		"ociVersion": "1.0.2",
		"process": object{
			"terminal":        b.TTY != nil,
			"user":            object{"uid": anyUser, "gid": anyUser},
			"args":            b.Args,
			"env":             append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", marker}, b.Env...),
			"cwd":             "/",
			"noNewPrivileges": true,
		},
		"root":   object{"path": "rootfs", "readonly": true},
		"mounts": b.mounts(),
		"linux": object{
			"namespaces":  namespaces,
			"cgroupsPath": "/" + id,
			"resources":   resources,
		},
	}
}

// mounts are the least that an image needs, and the binds.
func (b Bundle) mounts() []object {
	all := []object{
		{"destination": "/proc", "type": "proc", "source": "proc"},
		{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "mode=755", "size=64k"}},
		{"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": []string{"newinstance", "ptmxmode=0666", "mode=0620"}},
	}
	bind := func(source, at, mode string) {
		all = append(all, object{"destination": at, "type": "bind", "source": source, "options": []string{"rbind", mode}})
	}
	bind(drainitBin, "/drainit", "ro")
	bind(workerBin, "/worker", "ro")
	for at, source := range b.Binds {
		bind(source, at, "ro")
	}
	for at, source := range b.Writable {
		bind(source, at, "rw")
	}
	return all
}

// host binds the host's programs and libraries, for a worker that needs them,
// and one program at a place of its own, wherever it is on the host.
func host(t *testing.T, program string) map[string]string {
	t.Helper()
	need(t, program)
	path, err := exec.LookPath(program)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	binds := map[string]string{"/" + program: path, "/usr": "/usr"}
	for _, dir := range []string{"/bin", "/lib", "/lib64", "/etc/ssl"} {
		if _, err := os.Stat(dir); err == nil {
			binds[dir] = dir
		}
	}
	return binds
}

// exec starts a process in the container, as a hook or a probe of Kubernetes is
// started: it has no parent there.
func (c runcContainer) exec(command ...string) *Init {
	c.t.Helper()
	p := newInit(c.t)
	p.cmd = exec.Command("runc", append([]string{"--root", c.state, "exec", "--env", p.marker, c.id}, command...)...)
	p.start(nil, nil)
	return p
}

// kill sends a signal to PID 1, by runc.
func (c runcContainer) kill(signal string) {
	c.t.Helper()
	if out, err := exec.Command("runc", "--root", c.state, "kill", c.id, signal).CombinedOutput(); err != nil {
		c.t.Fatalf("cannot send %s: %v\n%s", signal, err, out)
	}
}
