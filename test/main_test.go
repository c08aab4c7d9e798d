// Package test runs the built drainit, as PID 1 of a PID namespace and not as
// PID 1, with real programs under it, and looks at what really happened.
package test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The programs under test, built once for each run of the tests.
var (
	drainitBin string // as it is released: static and stripped
	workerBin  string // test/worker
)

// raced is whether drainit is built with the race detector, as the tests are by go test
// -race.
var raced bool

// mostMemory is how many kB drainit may have, with what the race detector adds.
func mostMemory() int {
	if raced {
		return 64 << 10
	}
	return 12 << 10
}

// mustRunAll makes a skipped test a failed one, as in CI.
var mustRunAll bool

func TestMain(m *testing.M) {
	mustRunAll = os.Getenv("DRAINIT_TEST_ALL") == "1"
	os.Unsetenv("DRAINIT_TEST_ALL") // the workers' environment is compared
	notIgnored()
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		flag.Set("test.parallel", "10") // most of them wait
	}
	os.Exit(runTests(m))
}

// notIgnored makes default for the programs under test what a script ignores for
// those that it runs in the background, and nohup.
func notIgnored() {
	for _, sig := range []os.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGHUP} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig) // exec makes default what is handled
		}
	}
}

// binariesIn is the environment variable for tests that run within another one: the
// folder with the programs that this has built.
const binariesIn = "DRAINTEST_BINARIES"

func runTests(m *testing.M) (status int) {
	if dir := os.Getenv(binariesIn); dir != "" {
		drainitBin, workerBin = filepath.Join(dir, "drainit"), filepath.Join(dir, "worker")
		return m.Run()
	}
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
	for bin, build := range map[string]*exec.Cmd{drainitBin: buildDrainit(), workerBin: buildStatic(workerBin, "drainit/test/worker")} {
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "cannot build %s: %v\n%s", filepath.Base(bin), err, out)
			return 1
		}
	}
	guarded, err := startGuard(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot start the guard:", err)
		return 1
	}
	defer guarded.Close() // not earlier: without a reference its end would come at any time
	defer func() {
		if err := endDocker(); err != nil {
			fmt.Fprintln(os.Stderr, "cannot end the Docker engine of the tests:", err)
			status = 1
		}
	}()
	defer endPodman()
	status = m.Run()
	if *callsFile != "" {
		if err := writeCalls(dir); err != nil {
			fmt.Fprintln(os.Stderr, "cannot write the system calls:", err)
			status = 1
		}
	}
	return status
}

// startGuard starts what cleans up after a test binary that was killed, or that its own
// -timeout has ended: `worker guard`. It knows it by the end of a pipe, which no child
// inherits. In a session of its own it outlives a Ctrl-C, and without the marker of an
// outer test the end of that.
func startGuard(dir string) (guarded io.Closer, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	guard := exec.Command(workerBin, "guard", markerOf(os.Getpid()), dir)
	guard.Stdin = r
	guard.Env = []string{}
	guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return w, guard.Start()
}

func buildStatic(bin, pkg string) *exec.Cmd {
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, pkg)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	return build
}

func buildDrainit() *exec.Cmd {
	if !raced {
		return buildStatic(drainitBin, "drainit")
	}
	// Else each drainit waits a second at its end for races that are no longer seen.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	return exec.Command("go", "build", "-race", "-trimpath", "-tags=netgo,osusergo",
		"-ldflags=-s -w -linkmode external -extldflags -static", "-o", drainitBin, "drainit")
}
