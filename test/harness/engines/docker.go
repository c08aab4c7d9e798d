package engines

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"drainit/test/harness"
)

// Dockerd is a Docker engine of the tests' own. It runs under a drainit that is
// PID 1 of a namespace, so that nothing can outlive it: no process, no mount. The guard ends
// what a test binary leaves that is killed.
type Dockerd struct {
	dir   string
	cmd   *exec.Cmd
	ended chan error
}

// sharedDockerd is for all tests that need none of another kind.
var sharedDockerd struct {
	once sync.Once
	*Dockerd
}

// Docker returns the engine that the tests share, and starts it for the first.
func Docker(t *testing.T) *Dockerd {
	NeedDocker(t)
	sharedDockerd.once.Do(func() {
		sharedDockerd.Dockerd = StartDockerd(t)
		harness.AtEnd(sharedDockerd.End)
	})
	if sharedDockerd.Dockerd == nil {
		t.Fatal("the engine has not started: another test says why")
	}
	return sharedDockerd.Dockerd
}

// NeedDocker skips a test, or fails it in the whole tier, where a program of the engine is missing.
func NeedDocker(t *testing.T) {
	harness.Need(t, "docker", "dockerd", "runc", "containerd", "tini-static")
	staticBusybox(t)
	harness.NeedRoot(t)
}

// StartDockerd starts an engine, waits until it answers and gives it the image of most tests, base:
// drainit, the tests' worker, tini as Docker has it, and a shell with the usual programs.
func StartDockerd(t *testing.T, flags ...string) *Dockerd {
	dir, err := os.MkdirTemp("", "drainit-docker-")
	harness.Must(t, err)
	d := &Dockerd{dir: dir, ended: make(chan error, 1)}
	log, err := os.Create(filepath.Join(dir, "log"))
	harness.Must(t, err)
	defer log.Close()
	// No networks: the containers of the tests have none. No cgroup that they share:
	// on a busy machine all of them together would get what one process gets.
	d.cmd = exec.Command(harness.WorkerBin, append([]string{"stage", harness.DrainitBin, "--",
		"dockerd", "-H", d.host(),
		"--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"), "--pidfile",
		filepath.Join(dir, "pid"),
		"--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", "/",
		"--bridge=none", "--iptables=false", "--ip6tables=false"}, flags...)...)
	d.cmd.Env = append(os.Environ(), `STAGE={"Namespace":true}`, harness.NewMarker())
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true,
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	d.cmd.Stdout, d.cmd.Stderr = log, log
	harness.Must(t, d.cmd.Start())
	go func() { d.ended <- d.cmd.Wait() }()
	defer func() {
		if t.Failed() {
			t.Log(d.logged())
		}
	}()
	harness.WaitUntil(t, "dockerd answers", func() bool { return d.Client("version").Run() == nil })
	d.ImportImage(t, "base", nil, func(r *Rootfs) {
		r.Busybox()
		r.Copy("/drainit", harness.DrainitBin)
		r.Copy("/worker", harness.WorkerBin)
	})
	return d
}

func (d *Dockerd) host() string { return "unix://" + filepath.Join(d.dir, "docker.sock") }

func (d *Dockerd) logged() string {
	log, err := os.ReadFile(filepath.Join(d.dir, "log"))
	return fmt.Sprintf("dockerd has printed (%v):\n%s", err, log)
}

// End stops the engine, sees it end well and removes what was its own.
func (d *Dockerd) End() error {
	err := d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case status := <-d.ended:
		if status != nil {
			err = errors.Join(err, status, errors.New(d.logged()))
		}
	case <-time.After(2 * harness.Patience):
		err = errors.Join(err, errors.New("dockerd does not end"), d.cmd.Process.Kill())
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

// Client is a docker command for this engine, not started yet.
func (d *Dockerd) Client(args ...string) *exec.Cmd {
	cmd := exec.Command("docker", args...)
	cmd.Env = append(os.Environ(), d.Env()...)
	return cmd
}

// Env is what makes a client one of this engine, and of no other settings. The
// builder of the engine's own is the one that all clients have.
func (d *Dockerd) Env() []string {
	return []string{"DOCKER_HOST=" + d.host(), "DOCKER_CONFIG=" + d.dir, "DOCKER_BUILDKIT=0",
		"DOCKER_CONTEXT=", "DOCKER_CLI_HINTS=false"}
}

// Do runs a docker command that must succeed, and returns its output.
func (d *Dockerd) Do(t *testing.T, args ...string) string {
	t.Helper()
	return harness.OutputOf(t, d.Client(args...))
}

// DockerContainer is a container, and the docker client that is attached to it: its
// output, and its exit status, are the container's.
type DockerContainer struct {
	*harness.Init
	D    *Dockerd
	Name string
}

// Run starts a container from an image: flags of docker run, and the command.
func (d *Dockerd) Run(t *testing.T, image string, flags []string, command ...string) *DockerContainer {
	c := &DockerContainer{D: d, Name: fmt.Sprintf("c%d", started.Add(1))}
	t.Cleanup(func() { d.Do(t, "rm", "--force", "--volumes", c.Name) })
	c.Init = d.Begin(t, slices.Concat([]string{"run", "--name", c.Name, "--pull", "never"}, flags,
		[]string{image}, command)...)
	return c
}

// Do runs a docker command for this container: the words, then its name.
func (c *DockerContainer) Do(words ...string) string {
	c.T.Helper()
	return c.D.Do(c.T, append(words, c.Name)...)
}

// Begin starts a docker command beside the test, with the tests' environment left as it is.
func (d *Dockerd) Begin(t *testing.T, args ...string) *harness.Init {
	t.Helper()
	return harness.Run(t, harness.Launch{Bin: "docker", NoPID1: true, Env: d.Env(), Args: args})
}

// Containerd is the socket of the containerd below this engine.
func (d *Dockerd) Containerd() string {
	return filepath.Join(d.dir, "exec", "containerd", "containerd.sock")
}
