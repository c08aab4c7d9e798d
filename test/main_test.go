// Package test runs the built drainit, as PID 1 of a PID namespace and not as
// PID 1, with real programs under it, and looks at what really happened.
package test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The programs under test, built once for each run of the tests.
var (
	drainitBin string // as it is released: static and stripped
	workerBin  string // test/worker
)

// mustRunAll makes a skipped test a failed one, as in CI.
var mustRunAll bool

func TestMain(m *testing.M) {
	mustRunAll = os.Getenv("DRAINIT_TEST_ALL") == "1"
	os.Unsetenv("DRAINIT_TEST_ALL") // the workers' environment is compared
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		flag.Set("test.parallel", "8") // most of them wait
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	// Not below /tmp's usual 0700: workers that run as another user start from it.
	dir, err := os.MkdirTemp("", "drainit-test-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot make a folder for the binaries:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	drainitBin, workerBin = filepath.Join(dir, "drainit"), filepath.Join(dir, "worker")
	for bin, pkg := range map[string]string{drainitBin: "drainit", workerBin: "drainit/test/worker"} {
		build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "cannot build %s: %v\n%s", pkg, err, out)
			return 1
		}
	}
	return m.Run()
}
