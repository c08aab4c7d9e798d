package test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// dockerd is a Docker engine of the tests' own. It runs under a drainit that is
// PID 1 of a namespace, so that nothing can outlive it: no process, no mount.
type dockerd struct {
	dir   string
	cmd   *exec.Cmd
	ended chan error
}

// sharedDockerd is for all tests that need none of another kind.
var sharedDockerd struct {
	once sync.Once
	*dockerd
	err error
}

// docker returns the engine that the tests share, and starts it for the first.
func docker(t *testing.T) *dockerd {
	t.Helper()
	needDocker(t)
	s := &sharedDockerd
	s.once.Do(func() { s.dockerd, s.err = startDockerd(drainitBin) })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.dockerd
}

func needDocker(t *testing.T) {
	t.Helper()
	need(t, "docker", "dockerd", "runc", "containerd", "busybox", "tini-static")
	if os.Getuid() != 0 {
		skip(t, "needs root, for a Docker engine")
	}
}

// endDocker ends the engine that the tests share, if there is one.
func endDocker() error {
	if sharedDockerd.dockerd == nil {
		return nil
	}
	return sharedDockerd.end()
}

// startDockerd starts an engine under an init, waits until it answers and gives
// it the image base.
func startDockerd(init string, flags ...string) (*dockerd, error) {
	dir, err := os.MkdirTemp("", "drainit-docker-")
	if err != nil {
		return nil, err
	}
	d := &dockerd{dir: dir, ended: make(chan error, 1)}
	// No networks: the containers of the tests have none. No cgroup that they share:
	// on a busy machine all of them together would get what one process gets.
	args := append([]string{"stage", init, "--", "dockerd", "-H", d.host(),
		"--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"), "--pidfile", filepath.Join(dir, "pid"),
		"--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", "/",
		"--bridge=none", "--iptables=false", "--ip6tables=false"}, flags...)
	d.cmd = exec.Command(workerBin, args...)
	d.cmd.Env = append(os.Environ(), `STAGE={"Namespace":true}`)
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	log, err := os.Create(d.log())
	if err != nil {
		return nil, err
	}
	defer log.Close()
	d.cmd.Stdout, d.cmd.Stderr = log, log
	if err := d.start(); err != nil {
		return nil, errors.Join(err, d.end())
	}
	return d, nil
}

func (d *dockerd) host() string { return "unix://" + filepath.Join(d.dir, "docker.sock") }
func (d *dockerd) log() string  { return filepath.Join(d.dir, "log") }

func (d *dockerd) start() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the parent-death signal is for the end of this thread
		err := d.cmd.Start()
		started <- err
		if err == nil {
			err = d.cmd.Wait()
		}
		d.ended <- err
	}()
	if err := <-started; err != nil {
		return err
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		out, err := d.client("version").CombinedOutput()
		if err == nil {
			return d.importBase()
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(d.log())
			return fmt.Errorf("dockerd does not answer: %w\n%s%s", err, out, log)
		}
	}
}

// end stops the engine, sees it end well and removes what was its own.
func (d *dockerd) end() error {
	if d.cmd.Process == nil {
		return os.RemoveAll(d.dir)
	}
	err := d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case status := <-d.ended:
		if status != nil {
			log, _ := os.ReadFile(d.log())
			err = errors.Join(err, fmt.Errorf("the end of dockerd: %w\n%s", status, log))
		}
	case <-time.After(2 * patience):
		err = errors.Join(err, errors.New("dockerd does not end"), d.cmd.Process.Kill())
		<-d.ended
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

// client is a docker command for this engine.
func (d *dockerd) client(args ...string) *exec.Cmd {
	cmd := exec.Command("docker", args...)
	cmd.Env = append(os.Environ(), d.env()...)
	return cmd
}

// env is what makes a client one of this engine, and of no other settings. The
// builder of the engine's own is the one that all clients have.
func (d *dockerd) env() []string {
	return []string{"DOCKER_HOST=" + d.host(), "DOCKER_CONFIG=" + d.dir, "DOCKER_BUILDKIT=0", "DOCKER_CONTEXT=", "DOCKER_CLI_HINTS=false"}
}

// do runs a docker command that must succeed, and returns its output.
func (d *dockerd) do(t *testing.T, args ...string) string {
	t.Helper()
	return outputOf(t, d.client(args...))
}

// outputOf is the standard output of a command that must succeed.
func outputOf(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Start()
	if err == nil {
		defer time.AfterFunc(4*patience, func() { _ = cmd.Process.Kill() }).Stop()
		err = cmd.Wait()
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, stdout.String(), stderr.String())
	}
	return strings.TrimSuffix(stdout.String(), "\n")
}

// dockerContainer is a container, and the docker client that is attached to it: its
// output, and its exit status, are the container's.
type dockerContainer struct {
	*Init
	d    *dockerd
	name string
}

var dockerContainers atomic.Int64

// run starts a container from the image base: flags of docker run, and behind
// "--" the command.
func (d *dockerd) run(t *testing.T, args ...string) *dockerContainer {
	t.Helper()
	for i, arg := range args {
		if arg == "--" {
			return d.runImage(t, "base", args[:i], args[i+1:]...)
		}
	}
	t.Fatal("no -- and no command")
	return nil
}

func (d *dockerd) runImage(t *testing.T, image string, flags []string, command ...string) *dockerContainer {
	t.Helper()
	return d.attach(t, nil, image, flags, command...)
}

// attach is runImage with a terminal for the client.
func (d *dockerd) attach(t *testing.T, tty *os.File, image string, flags []string, command ...string) *dockerContainer {
	t.Helper()
	c := &dockerContainer{d: d, name: fmt.Sprintf("c%d", dockerContainers.Add(1))}
	t.Cleanup(func() { d.do(t, "rm", "--force", "--volumes", c.name) })
	args := append([]string{"run", "--name", c.name, "--pull", "never"}, flags...)
	l := d.launchable(t, append(append(args, image), command...)...)
	l.TTY = tty
	c.Init = launch(t, l)
	return c
}

// do runs a docker command for this container: the words, then its name.
func (c *dockerContainer) do(words ...string) string {
	c.t.Helper()
	return c.d.do(c.t, append(words, c.name)...)
}

// exec runs a program in the container that must succeed.
func (c *dockerContainer) exec(command ...string) string {
	c.t.Helper()
	return c.d.do(c.t, append([]string{"exec", c.name}, command...)...)
}

// inspect is one of the things that docker inspect knows.
func (c *dockerContainer) inspect(what string) string {
	c.t.Helper()
	return c.do("inspect", "--format", "{{"+what+"}}")
}

// begin starts a docker command for this container beside the test.
func (c *dockerContainer) begin(words ...string) *Init {
	c.t.Helper()
	return c.d.begin(c.t, append(words, c.name)...)
}

// begin starts a docker command beside the test.
func (d *dockerd) begin(t *testing.T, args ...string) *Init {
	t.Helper()
	return launch(t, d.launchable(t, args...))
}

// launchable is a docker command with the tests' environment left as it is.
func (d *dockerd) launchable(t *testing.T, args ...string) Launch {
	t.Helper()
	client, err := exec.LookPath("docker")
	if err != nil {
		t.Fatal(err)
	}
	return Launch{Bin: client, NoPID1: true, Env: d.env(), Args: args}
}
