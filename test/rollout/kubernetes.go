package rollout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// kubernetes is the release that is built, without the v1 before it: of its libraries it is v0.
const kubernetes = "33.5"

// buildKubernetes returns the folder with Kubernetes' programs, below cache. It builds them if they are
// not there.
func buildKubernetes(ctx context.Context, cache string) (dir string, err error) {
	dir = filepath.Join(cache, "kubernetes-1."+kubernetes)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	report("building Kubernetes 1.%s in %s, once; this takes some minutes", kubernetes, cache)
	goMod, err := output(exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.GoMod}}",
		"k8s.io/kubernetes@v1."+kubernetes))
	if err != nil {
		return "", err
	}
	theirs, err := os.ReadFile(strings.TrimSpace(goMod))
	module := filepath.Join(cache, "module")
	err = errors.Join(err, os.MkdirAll(module, 0o755), os.WriteFile(filepath.Join(module, "go.mod"),
		[]byte(withoutStaging(string(theirs))), 0o644))
	if err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-mod=mod", "-o", "built/",
		"-ldflags=-s -w -X k8s.io/component-base/version.gitVersion=v1."+kubernetes)
	for _, program := range []string{"kubelet", "kubectl", "kube-apiserver", "kube-controller-manager",
		"kube-scheduler"} {
		build.Args = append(build.Args, "k8s.io/kubernetes/cmd/"+program)
	}
	build.Dir, build.Env = module, append(os.Environ(), "CGO_ENABLED=0")
	if err := run(build); err != nil {
		return "", err
	}
	return dir, os.Rename(filepath.Join(module, "built"), dir)
}

var (
	goLine  = regexp.MustCompile(`(?m)^go .*$`)
	staging = regexp.MustCompile(`(?m)^\s*(k8s\.io/\S+) => \./staging/`)
)

// withoutStaging makes the go.mod of a module that can build Kubernetes, of Kubernetes' own. That takes the
// libraries from folders beside it, which the module proxy leaves out: there they are modules.
func withoutStaging(theirs string) string {
	module := "module rollout\n\n" + goLine.FindString(theirs) + "\n\nrequire k8s.io/kubernetes v1." +
		kubernetes + "\n\n"
	for _, m := range staging.FindAllStringSubmatch(theirs, -1) {
		module += fmt.Sprintf("replace %[1]s => %[1]s v0.%[2]s\n", m[1], kubernetes)
	}
	return module
}
