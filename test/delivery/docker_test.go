package delivery

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A Docker engine loads the image of one architecture, and the containerd below it the one
// with all, as a Docker with containerd's image store does.
func TestDockerLoadsTheImage(t *testing.T) {
	d := startDockerd(t)
	d.loads(t, filepath.Join(release(t), "drainit-image-linux-"+arches()[0]+".tar"))
	t.Run("containerd", d.containerd)
}

func (d *dockerd) containerd(t *testing.T) {
	need(t, "ctr")
	for _, file := range []string{"drainit-image-linux-" + arches()[0] + ".tar", "drainit-oci.tar"} {
		ctr := func(args ...string) string {
			return do(t, release(t), append([]string{"ctr", "--address", d.dir + "/exec/containerd/containerd.sock", "--namespace", file}, args...)...)
		}
		ctr("images", "import", file)
		if got := ctr("images", "list", "--quiet"); got != reference(t) {
			t.Errorf("%s is loaded as %s", file, got)
		}
		if got := ctr("images", "check"); !strings.Contains(got, " complete (2/2) ") {
			t.Errorf("%s is not complete:\n%s", file, got)
		}
		ctr("images", "remove", "--sync", reference(t))
	}
}

// loads loads an image, runs it, and copies drainit from it into another.
func (d *dockerd) loads(t *testing.T, file string) {
	t.Helper()
	ref := reference(t)
	if out := d.do(t, "load", "--input", file); !strings.Contains(out, "Loaded image: "+ref) {
		t.Errorf("%s is loaded as something else: %s", file, out)
	}
	if got := d.do(t, "image", "inspect", "--format", "{{.Os}}/{{.Architecture}} {{.Config.Entrypoint}}", ref); got != "linux/"+runtime.GOARCH+" [/drainit]" {
		t.Errorf("%s is %s", file, got)
	}
	build := d.client("build", "--network", "none", "--tag", "other", "-")
	build.Stdin = strings.NewReader("FROM scratch\nCOPY --from=" + ref + " /drainit /init\nENTRYPOINT [\"/init\", \"--\", \"/init\"]\n")
	output(t, build)
	for _, image := range []string{ref, "other"} {
		got := d.do(t, "run", "--rm", "--network", "none", image, "--version")
		if !strings.HasPrefix(got, "drainit v"+version(t)+" ") {
			t.Errorf("%s: %s says %q", file, image, got)
		}
	}
	d.do(t, "image", "rm", "other", ref)
}

// dockerd is a Docker engine of a test's own, below a drainit that is PID 1 of a
// namespace, so that no process and no mount outlives it.
type dockerd struct {
	dir   string
	ended chan error
}

// startDockerd starts one and waits until it answers.
func startDockerd(t *testing.T) *dockerd {
	t.Helper()
	need(t, "docker", "dockerd", "runc", "containerd", "sh", "mount")
	if os.Getuid() != 0 {
		skip(t, "needs root, for a Docker engine")
	}
	dir, err := os.MkdirTemp(base, "docker-")
	if err != nil {
		t.Fatal(err)
	}
	d := &dockerd{dir, make(chan error, 1)}
	init, err := d.start(filepath.Join(release(t), "drainit-linux-"+arches()[0]))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.end(t, init) })
	if err := waitFor("dockerd", func() error {
		if len(d.ended) > 0 {
			t.Fatal("dockerd has ended")
		}
		_, err := outputOf(d.client("version"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *dockerd) start(drainit string) (*os.Process, error) {
	cmd := exec.Command("sh", "-c", `mount -t proc proc /proc && exec "$@"`, "sh", drainit, "--grace", "60s", "--",
		"dockerd", "-H", d.host(), "--data-root", d.dir+"/data", "--exec-root", d.dir+"/exec", "--pidfile", d.dir+"/pid",
		"--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", "/",
		"--bridge=none", "--iptables=false", "--ip6tables=false")
	// Go makes the mounts of a namespace that is unshared private, so that none of them
	// is seen outside.
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true, Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	log, err := os.Create(d.dir + "/log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the parent-death signal is for the end of this thread
		err := cmd.Start()
		started <- err
		if err == nil {
			d.ended <- cmd.Wait()
		}
	}()
	err = <-started
	return cmd.Process, err
}

// end stops the engine, and sees it end well.
func (d *dockerd) end(t *testing.T, init *os.Process) {
	err := init.Signal(syscall.SIGTERM)
	select {
	case status := <-d.ended:
		err = errors.Join(err, status)
	case <-time.After(patience):
		err = errors.Join(err, errors.New("it does not end"), init.Kill())
		<-d.ended
	}
	if err != nil {
		t.Errorf("the end of dockerd: %v\n%s", err, d.log())
	}
	if err := os.RemoveAll(d.dir); err != nil {
		t.Error(err)
	}
}

func (d *dockerd) host() string { return "unix://" + filepath.Join(d.dir, "docker.sock") }

func (d *dockerd) log() string {
	log, err := os.ReadFile(filepath.Join(d.dir, "log"))
	return fmt.Sprint(string(log), err)
}

// client is a docker command for this engine, and with nobody's settings.
func (d *dockerd) client(args ...string) *exec.Cmd {
	cmd := exec.Command("docker", args...)
	cmd.Env = append(os.Environ(), "DOCKER_HOST="+d.host(), "DOCKER_CONFIG="+d.dir, "DOCKER_BUILDKIT=0", "DOCKER_CONTEXT=", "DOCKER_CLI_HINTS=false")
	return cmd
}

func (d *dockerd) do(t *testing.T, args ...string) string {
	t.Helper()
	return output(t, d.client(args...))
}
