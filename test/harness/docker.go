package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
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
	err error
}

// Docker returns the engine that the tests share, and starts it for the first.
func Docker(t *testing.T) *Dockerd {
	t.Helper()
	NeedDocker(t)
	s := &sharedDockerd
	s.once.Do(func() { s.Dockerd, s.err = StartDockerd(DrainitBin) })
	Must(t, s.err)
	return s.Dockerd
}

// NeedDocker skips a test that lacks what a Docker engine needs.
func NeedDocker(t *testing.T) {
	t.Helper()
	Need(t, "docker", "dockerd", "runc", "containerd", "tini-static")
	StaticBusybox(t)
	NeedRoot(t)
}

// endDocker ends the engine that the tests share, if there is one.
func endDocker() error {
	if sharedDockerd.Dockerd == nil {
		return nil
	}
	return sharedDockerd.End()
}

// StartDockerd starts an engine under an init, waits until it answers and gives
// it the image base.
func StartDockerd(init string, flags ...string) (*Dockerd, error) {
	dir, err := os.MkdirTemp("", "drainit-docker-")
	if err != nil {
		return nil, err
	}
	d := &Dockerd{dir: dir, ended: make(chan error, 1)}
	log, err := os.Create(d.Log())
	if err != nil {
		return nil, err
	}
	defer log.Close()
	// No networks: the containers of the tests have none. No cgroup that they share:
	// on a busy machine all of them together would get what one process gets.
	d.cmd = exec.Command(WorkerBin, append([]string{"stage", init, "--", "dockerd", "-H", d.host(),
		"--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"), "--pidfile", filepath.Join(dir, "pid"),
		"--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", "/",
		"--bridge=none", "--iptables=false", "--ip6tables=false"}, flags...)...)
	d.cmd.Env = append(os.Environ(), `STAGE={"Namespace":true}`, newMarker())
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	d.cmd.Stdout, d.cmd.Stderr = log, log
	if err := d.start(); err != nil {
		return nil, errors.Join(err, d.End())
	}
	return d, nil
}

func (d *Dockerd) host() string { return "unix://" + filepath.Join(d.dir, "docker.sock") }

// Log is the file with what the engine prints.
func (d *Dockerd) Log() string { return filepath.Join(d.dir, "log") }

// logged is err with what the engine has printed.
func (d *Dockerd) logged(what string, err error) error {
	log, _ := os.ReadFile(d.Log())
	return fmt.Errorf("%s: %w\n%s", what, err, log)
}

func (d *Dockerd) start() error {
	if err := d.cmd.Start(); err != nil {
		return err
	}
	go func() { d.ended <- d.cmd.Wait() }()
	for deadline := time.Now().Add(Patience); ; time.Sleep(10 * time.Millisecond) {
		_, err := d.Client("version").CombinedOutput()
		if err == nil {
			return d.importBase()
		}
		if time.Now().After(deadline) {
			return d.logged("dockerd does not answer", err)
		}
	}
}

// End stops the engine, sees it end well and removes what was its own.
func (d *Dockerd) End() error {
	if d.cmd.Process == nil {
		return os.RemoveAll(d.dir)
	}
	err := d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case status := <-d.ended:
		if status != nil {
			err = errors.Join(err, d.logged("the end of dockerd", status))
		}
	case <-time.After(2 * Patience):
		err = errors.Join(err, errors.New("dockerd does not end"), d.cmd.Process.Kill())
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

// Client is a docker command for this engine.
func (d *Dockerd) Client(args ...string) *exec.Cmd {
	cmd := exec.Command("docker", args...)
	cmd.Env = append(os.Environ(), d.Env()...)
	return cmd
}

// Env is what makes a client one of this engine, and of no other settings. The
// builder of the engine's own is the one that all clients have.
func (d *Dockerd) Env() []string {
	return []string{"DOCKER_HOST=" + d.host(), "DOCKER_CONFIG=" + d.dir, "DOCKER_BUILDKIT=0", "DOCKER_CONTEXT=", "DOCKER_CLI_HINTS=false"}
}

// Do runs a docker command that must succeed, and returns its output.
func (d *Dockerd) Do(t *testing.T, args ...string) string {
	t.Helper()
	return OutputOf(t, d.Client(args...))
}

// OutputOf is the standard output of a command that must succeed.
func OutputOf(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Start()
	if err == nil {
		defer time.AfterFunc(4*Patience, func() { _ = cmd.Process.Kill() }).Stop()
		err = cmd.Wait()
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, stdout.String(), stderr.String())
	}
	return strings.TrimSuffix(stdout.String(), "\n")
}

// DockerContainer is a container, and the docker client that is attached to it: its
// output, and its exit status, are the container's.
type DockerContainer struct {
	*Init
	D    *Dockerd
	Name string
}

// Run starts a container from the image base: flags of docker run, and after
// "--" the command.
func (d *Dockerd) Run(t *testing.T, args ...string) *DockerContainer {
	t.Helper()
	i := slices.Index(args, "--")
	return d.RunImage(t, "base", args[:i], args[i+1:]...)
}

// RunImage starts a container from an image: flags of docker run, and the command.
func (d *Dockerd) RunImage(t *testing.T, image string, flags []string, command ...string) *DockerContainer {
	t.Helper()
	c := &DockerContainer{D: d, Name: fmt.Sprintf("c%d", launches.Add(1))}
	t.Cleanup(func() { d.Do(t, "rm", "--force", "--volumes", c.Name) })
	c.Init = d.Begin(t, slices.Concat([]string{"run", "--name", c.Name, "--pull", "never"}, flags, []string{image}, command)...)
	return c
}

// Do runs a docker command for this container: the words, then its name.
func (c *DockerContainer) Do(words ...string) string {
	c.T.Helper()
	return c.D.Do(c.T, append(words, c.Name)...)
}

// Exec runs a program in the container that must succeed.
func (c *DockerContainer) Exec(command ...string) string {
	c.T.Helper()
	return c.D.Do(c.T, append([]string{"exec", c.Name}, command...)...)
}

// Begin starts a docker command beside the test, with the tests' environment left as it is.
func (d *Dockerd) Begin(t *testing.T, args ...string) *Init {
	t.Helper()
	return Run(t, Launch{Bin: PathOf(t, "docker"), NoPID1: true, Env: d.Env(), Args: args})
}

// Containerd is the socket of the containerd below this engine.
func (d *Dockerd) Containerd() string {
	return filepath.Join(d.dir, "exec", "containerd", "containerd.sock")
}
