package harness

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
	Loopback bool              // a network of its own, and not the host's
}

// RuncContainer is a running container; as an Init, what `runc run` prints and
// returns, which is what PID 1 does.
type RuncContainer struct {
	*Init
	state string // runc's folder
	id    string
}

// AnyUser is the user and group of every container here.
const AnyUser = 65532

// StartRunc starts a container. /drainit and /worker are in it.
func StartRunc(t *testing.T, b Bundle) RuncContainer {
	t.Helper()
	NeedRoot(t)
	Need(t, "runc")
	dir := t.TempDir()
	p := NewInit(t)
	c := RuncContainer{p, filepath.Join(dir, "state"), strings.NewReplacer("=", "-", ".", "-").Replace(strings.ToLower(p.Marker))}
	Must(t, os.MkdirAll(filepath.Join(dir, "bundle/rootfs"), 0o755))
	config, err := json.Marshal(b.config(c.id, p.Marker))
	Must(t, err)
	WriteFile(t, filepath.Join(dir, "bundle/config.json"), config)
	// Registered first, so that it comes after the end of what p started.
	t.Cleanup(func() {
		if out, err := c.runc("delete", "--force", c.id).CombinedOutput(); err != nil {
			t.Errorf("cannot delete the container: %v\n%s", err, out)
		}
	})
	p.Cmd = c.runc("run", "--bundle", filepath.Join(dir, "bundle"), c.id)
	p.Start(nil, nil)
	return c
}

func (c RuncContainer) runc(args ...string) *exec.Cmd {
	return exec.Command("runc", append([]string{"--root", c.state}, args...)...)
}

// Object is one of JSON's.
type Object = map[string]any

// config is the config.json of the OCI runtime specification.
func (b Bundle) config(id, marker string) Object {
	namespaces := []Object{{"type": "pid"}, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}}
	if b.Loopback {
		namespaces = append(namespaces, Object{"type": "network"})
	}
	return Object{
		"ociVersion": "1.0.2",
		"process": Object{
			"user":            Object{"uid": AnyUser, "gid": AnyUser},
			"args":            b.Args,
			"env":             append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", marker}, b.Env...),
			"cwd":             "/",
			"noNewPrivileges": true,
		},
		"root":   Object{"path": "rootfs", "readonly": true},
		"mounts": b.mounts(),
		"linux": Object{
			"namespaces":  namespaces,
			"cgroupsPath": "/" + id,
			"resources":   Object{"devices": []Object{{"allow": false, "access": "rwm"}}},
		},
	}
}

// mounts are the least that an image needs, and the binds.
func (b Bundle) mounts() []Object {
	all := []Object{
		{"destination": "/proc", "type": "proc", "source": "proc"},
		{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "mode=755", "size=64k"}},
		{"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": []string{"newinstance", "ptmxmode=0666", "mode=0620"}},
	}
	bind := func(source, at, mode string) {
		all = append(all, Object{"destination": at, "type": "bind", "source": source, "options": []string{"rbind", mode}})
	}
	bind(DrainitBin, "/drainit", "ro")
	bind(WorkerBin, "/worker", "ro")
	for at, source := range b.Binds {
		bind(source, at, "ro")
	}
	for at, source := range b.Writable {
		bind(source, at, "rw")
	}
	return all
}

// Exec starts a process in the container, as a hook or a probe of Kubernetes is
// started: it has no parent there.
func (c RuncContainer) Exec(command ...string) *Init {
	c.T.Helper()
	p := NewInit(c.T)
	p.Cmd = c.runc(append([]string{"exec", "--env", p.Marker, c.id}, command...)...)
	p.Start(nil, nil)
	return p
}

// Kill sends a signal to PID 1, by runc.
func (c RuncContainer) Kill(signal string) {
	c.T.Helper()
	OutputOf(c.T, c.runc("kill", c.id, signal))
}
