package rollout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"drainit/test/harness/cgroup"
)

// traces lists what a cluster in a folder may leave on this machine, and what there is of that kind
// besides: a list from before the cluster tells which are new.
func traces(dir string) ([]string, error) {
	list := exec.Command("sh", "-c", file("traces.sh"))
	list.Stdin = strings.NewReader(dir + "\n")
	text, err := output(list)
	return strings.Split(text, "\n"), err
}

// clean removes the cgroups of the cluster, which nothing else ends, and waits until all that is new
// since before has gone: the kernel takes its time with namespaces.
func clean(dir string, before []string) error {
	return until(context.Background(), time.Minute, "nothing of the cluster stays", func() error {
		removeCgroups()
		after, err := traces(dir)
		if stays := since(before, after); len(stays) > 0 {
			err = errors.Join(err, fmt.Errorf("new on this machine since before the cluster:\n%s",
				strings.Join(stays, "\n")))
		}
		return err
	})
}

// since are the traces that are new.
func since(before, after []string) []string {
	return slices.DeleteFunc(slices.Clone(after),
		func(trace string) bool { return slices.Contains(before, trace) })
}

// removeCgroups removes those of a kubelet that no process is in.
func removeCgroups() {
	for _, path := range podCgroups() {
		_ = os.Remove(path) // what can't be removed yet is listed
	}
}

// removeLeft removes the cgroups of a run that was killed. It leaves those of a kubelet that has pods.
func removeLeft() error {
	for _, path := range podCgroups() {
		if inside, _ := os.ReadFile(filepath.Join(path, "cgroup.procs")); len(inside) > 0 {
			return fmt.Errorf("a kubelet runs here already: %s is in use", path)
		}
	}
	removeCgroups()
	return nil
}

// podCgroups are those of a kubelet's pods, each after what is below it.
func podCgroups() (all []string) {
	for _, top := range cgroup.At("kubepods") {
		all = append(all, cgroup.Tree(top)...)
	}
	return all
}
