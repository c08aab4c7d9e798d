// Package rollout updates a Deployment in a real Kubernetes while its workers do jobs, and counts the
// jobs that the update interrupts: under drainit, with the page's manifest, under its peers and
// without an init. Its command is test/cmd/rollout.
//
// The cluster lives in PID, mount and network namespaces that drainit is the first process of, and in a
// scratch folder. It ends with them, however the command ends, also by Ctrl-C. Its cgroups are removed
// afterwards. A minute later the command lists each mount, network interface and iptables rule that was
// not there before, and each process and cgroup that is left of the cluster. Killed by SIGKILL, it leaves
// its scratch folder in the temporary folder (some 450 MB), which the next run removes. Neither the
// temporary folder nor -cache may be below /run, /var/lib or /var/log: the cluster has empty folders in
// their place.
//
// The first run builds Kubernetes from the Go module proxy: gigabytes in Go's module and build caches.
// The seconds of each rollout depend on the load of the machine, and are no results.
package rollout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"

	"golang.org/x/sys/unix"
)

// Settings are what a run is asked for. An init or a mode is tried if its name matches.
type Settings struct {
	Inits, Modes *regexp.Regexp
	Inject       bool   // try ways to inject drainit, with images that are left as they are
	Jobs         int    // at least so many for each init in each mode
	Cache        string // the folder in which Kubernetes is kept
}

// folder is the environment variable that a run has within the namespaces: its scratch folder.
const folder = "ROLLOUT_FOLDER"

// Run makes the programs and the image, has a cluster try the inits, and takes it down. It prints the
// table on standard output. The error has the jobs that drainit has lost, and what stays of the cluster.
func Run(ctx context.Context, s Settings) (err error) {
	if dir := os.Getenv(folder); dir != "" {
		return s.tryAll(ctx, dir)
	}
	if err := missing(); err != nil {
		return err
	}
	if err := s.visible(); err != nil {
		return err
	}
	bin, err := buildKubernetes(ctx, s.Cache)
	if err != nil {
		return err
	}
	dir, lock, err := makeFolder(os.TempDir())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir), lock.Close()) }()
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir, "drainit")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if err := errors.Join(run(build), writeImage(dir, programs...)); err != nil {
		return err
	}
	if err := removeLeft(); err != nil {
		return err
	}
	before, err := traces(dir)
	if err != nil {
		return err
	}
	return errors.Join(inNamespaces(ctx, dir, bin), clean(dir, before))
}

// visible makes the cache, and says what of a run the cluster would not see.
func (s *Settings) visible() (err error) {
	if s.Cache, err = filepath.Abs(s.Cache); err != nil {
		return err
	}
	self, err := os.Executable()
	if err := errors.Join(err, os.MkdirAll(s.Cache, 0o755)); err != nil {
		return err
	}
	return hidden(map[string]string{"the cache (-cache)": s.Cache,
		"the temporary folder (TMPDIR)": os.TempDir(), "this program": self})
}

// inNamespaces runs this command once more, with the cluster. Its first process dies with this one, or
// when the context ends, and all others with it.
func inNamespaces(ctx context.Context, dir, bin string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", file("stage.sh"), "stage.sh", self},
		os.Args[1:]...)...)
	cmd.Env = append(os.Environ(), folder+"="+dir, "PATH="+bin+":"+os.Getenv("PATH")+":/usr/sbin:/sbin")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true, // Ctrl-C is for this process alone
		Pdeathsig:  syscall.SIGKILL,
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC,
	}
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the run failed: %w", err) // it has said why
	}
	return context.Cause(ctx)
}

// tryAll starts the cluster, tries the inits, all at once in each mode, and prints the table.
func (s Settings) tryAll(ctx context.Context, dir string) error {
	ctx, fail := context.WithCancelCause(ctx)
	c := &cluster{dir: dir, namespace: "default", fail: fail}
	modes, contenders, err := s.start(ctx, c)
	if err != nil {
		return err
	}
	report("the node is ready")
	var rows []row
	for _, m := range modes {
		if !s.Modes.MatchString(m.name) {
			continue
		}
		tried, err := c.tryIn(ctx, m, s, contenders)
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		rows = append(rows, tried...)
	}
	fmt.Print(table(rows))
	return verdict(rows)
}

// start starts the cluster, and returns what is to be tried. Where drainit is to be injected, its node has
// it.
func (s Settings) start(ctx context.Context, c *cluster) ([]mode, []contender, error) {
	if !s.Inject {
		return modes, contenders, c.up(ctx, "runc", "")
	}
	if err := c.up(ctx, "drainit-default", onNode()); err != nil {
		return nil, nil, err
	}
	able, err := waysHere(ctx)
	return images, able, errors.Join(err, c.install(ctx))
}
