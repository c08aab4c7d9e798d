package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"drainit/test/harness"
)

// While it starts drainit keeps its threads on one processor: neither the worker is bound to
// that, nor is drainit itself later.
func TestWorkerMayRunOnEveryProcessor(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		want := processors(t, "/proc/self/status")
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", "sleep", "1000"}})
		p.WaitTitle("drainit:run")
		if got := processors(t, fmt.Sprintf("/proc/%d/status", p.FirstChild())); got != want {
			t.Errorf("the worker may run on %s, want %s", got, want)
		}
		waitProcessors(p, want)
	})
}

// Without /proc it keeps them where they are: it could not find them again.
func TestDrainitMayRunOnEveryProcessorWithoutProc(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		want := processors(t, "/proc/self/status")
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Setup: harness.Setup{Proc: "none"}, Args: []string{"--", "sleep", "1000"}})
		p.WaitTitle("drainit:run")
		waitProcessors(p, want)
	})
}

// A worker goes by its cpuset, which may change: engines and kubelets change it (docker update
// --cpuset-cpus). The kernel keeps to what a thread has asked for once, and what it starts does
// so, too.
func TestWorkerFollowsItsCpuset(t *testing.T) {
	first, all := firstProcessor(t)
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		g := harness.NewCpuset(t, first)
		p := g.Run(harness.Launch{NoPID1: noPID1, Args: []string{"--", "sleep", "1000"}})
		p.WaitTitle("drainit:run")
		worker := fmt.Sprintf("/proc/%d/status", p.FirstChild())
		if got := processors(t, worker); got != first {
			t.Errorf("the worker may run on %s, want %s", got, first)
		}
		waitProcessors(p, first)
		g.Set(all)
		if got := processors(t, worker); got != all {
			t.Errorf("the worker may run on %s when its cpuset is %s", got, all)
		}
		waitProcessors(p, all)
	})
}

// The same for the drainit that holds a pod's namespaces: it has no worker.
func TestPauseFollowsItsCpuset(t *testing.T) {
	first, all := firstProcessor(t)
	g := harness.NewCpuset(t, first)
	p := g.Run(harness.Launch{Args: []string{"--pause"}})
	p.WaitTitle("drainit:pause")
	g.Set(all)
	waitProcessors(p, all)
}

// Where drainit is bound to some processors of its cpuset, so is its worker.
func TestWorkerIsBoundAsDrainit(t *testing.T) {
	harness.Need(t, "taskset")
	first, _ := firstProcessor(t)
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Bin: "/bin/sh",
			Args: []string{"-c", `exec taskset -c "$0" "$@"`, first, harness.DrainitBin, "--", "sleep", "1000"}})
		p.WaitTitle("drainit:run")
		if got := processors(t, fmt.Sprintf("/proc/%d/status", p.FirstChild())); got != first {
			t.Errorf("the worker may run on %s, want %s", got, first)
		}
		waitProcessors(p, first)
	})
}

// firstProcessor is the first of those that the test may run on, and all of them, as the kernel
// writes them. It takes two.
func firstProcessor(t *testing.T) (first, all string) {
	t.Helper()
	all = processors(t, "/proc/self/status")
	first = regexp.MustCompile(`^\d+`).FindString(all)
	if first == all {
		harness.Skip(t, "needs two processors")
	}
	return first, all
}

var allowedProcessors = regexp.MustCompile(`(?m)^Cpus_allowed_list:\t(.*)$`)

// processors are those that a thread may run on, by its status.
func processors(t *testing.T, status string) string {
	t.Helper()
	b, err := os.ReadFile(status)
	if err != nil {
		t.Fatal(err)
	}
	return allowedProcessors.FindStringSubmatch(string(b))[1]
}

// waitProcessors waits until all threads of drainit may run on these processors.
func waitProcessors(p *harness.Init, want string) {
	p.T.Helper()
	harness.WaitUntil(p.T, "all threads of drainit may run on "+want, func() bool {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", p.Pid()))
		for _, file := range files {
			if processors(p.T, file) != want {
				return false
			}
		}
		return len(files) > 1
	})
}
