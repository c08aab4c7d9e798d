package rollout

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// packages are Debian's, each with a program of it: a path, or a name in PATH.
var packages = [][2]string{
	{"containerd", "containerd"}, {"runc", "runc"}, {"containernetworking-plugins", "/usr/lib/cni/bridge"},
	{"etcd-server", "etcd"},
	{"iptables", "iptables-save"}, {"iproute2", "ip"}, {"nodejs", "node"}, {"tini", "tini"},
	{"dumb-init", "dumb-init"}, {"catatonit", "catatonit"},
}

// missing says what has to be done before a cluster can be started here.
func missing() error {
	if os.Getuid() != 0 {
		return errors.New("must run as root, to mount file systems and make network interfaces")
	}
	var names []string
	for _, p := range packages {
		if _, err := exec.LookPath(p[1]); err != nil {
			names = append(names, p[0])
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("programs are missing: apt-get install -y --no-install-recommends %s",
			strings.Join(names, " "))
	}
	return nil
}

// output runs a command and returns what it prints. Its error has what it has complained of.
func output(cmd *exec.Cmd) (string, error) {
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err,
			stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

// run is output without what the command prints.
func run(cmd *exec.Cmd) error {
	_, err := output(cmd)
	return err
}

// report says on standard error how far the run has come.
func report(format string, args ...any) { fmt.Fprintf(os.Stderr, "rollout: "+format+"\n", args...) }
