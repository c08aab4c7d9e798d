// Package harness runs the built drainit, as PID 1 of a PID namespace and not as PID 1,
// with real programs under it, for tests that look at what really happened: which process
// got which signal, who is alive, the exit status, and what a user sees.
//
// Run starts an init with every setting that a test can give it, StartTree one with a tree
// of processes, AtConsole one on a terminal, StartDockerd, StartPodman, StartRunc and
// NewCgroup one in a container. Whatever they start ends with the test. Need skips a test
// whose program is not installed.
package harness

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The programs under test, built once for each run of the tests.
var (
	DrainitBin string // as it is released: static and stripped
	WorkerBin  string // test/cmd/worker
)

// Raced is whether drainit is built with the race detector, as the tests are by go test
// -race.
var Raced bool

// testsAtOnce is how many tests of a package run at once: most of them wait. go test runs as
// many packages at once as there are processors.
const testsAtOnce = "8"

// Main runs the tests of a package, with the programs under test built and what they
// leave cleaned up. It is what a package's TestMain calls, and does not return.
func Main(m *testing.M) {
	syscall.Umask(0o022) // others run what is built
	notIgnored()
	forgetLocale()
	goTest = os.Getenv(goTestIs)
	os.Unsetenv(goTestIs)
	flag.Parse()
	choose()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		flag.Set("test.parallel", testsAtOnce)
	}
	status := runTests(m)
	sayLeftOut()
	os.Exit(status)
}

// forgetLocale has the programs speak as on a machine without one: perl warns of each that is not installed.
func forgetLocale() {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "LC_") || name == "LANG" || name == "LANGUAGE" {
			os.Unsetenv(name)
		}
	}
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

// BinariesIn is the environment variable for tests that run within another one: the
// folder with the programs that this has built.
const BinariesIn = "DRAINTEST_BINARIES"

// goTestIs is the environment variable with the pid of go test, for tests whose parent is another.
const goTestIs = "DRAINTEST_GO"

var goTest string // what it has

func runTests(m *testing.M) int {
	if dir := os.Getenv(BinariesIn); dir != "" {
		os.Unsetenv(BinariesIn) // the workers' environment is compared
		DrainitBin, WorkerBin = filepath.Join(dir, "drainit"), filepath.Join(dir, "worker")
		return m.Run()
	}
	dir, err := makeDir()
	defer os.RemoveAll(dir)
	if err != nil {
		return failed("make a folder for the tests", err)
	}
	DrainitBin, WorkerBin = filepath.Join(dir, "drainit"), filepath.Join(dir, "worker")
	for _, build := range []*exec.Cmd{buildDrainit(), buildStatic(WorkerBin, "drainit/test/cmd/worker")} {
		if out, err := build.CombinedOutput(); err != nil {
			return failed("build "+build.Args[len(build.Args)-1], fmt.Errorf("%w\n%s", err, out))
		}
	}
	guarded, err := startGuard(dir)
	if err != nil {
		return failed("start the guard", err)
	}
	defer guarded.Close()  // not earlier: without a reference its end would come at any time
	if os.Getppid() == 1 { // as in docker run golang go test ./...
		return runReaped(dir)
	}
	status := m.Run()
	endPodman()
	if err := endDocker(); err != nil {
		return failed("end the tests", err)
	}
	return status
}

// runReaped runs the same tests below a process that reaps what they leave.
func runReaped(dir string) int {
	tests := exec.Command(WorkerBin, append([]string{"reap"}, os.Args...)...)
	tests.Stdin, tests.Stdout, tests.Stderr = os.Stdin, os.Stdout, os.Stderr
	tests.Env = append(os.Environ(), BinariesIn+"="+dir, fmt.Sprintf("%s=%d", goTestIs, os.Getppid()))
	tests.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	var exit *exec.ExitError
	if err := tests.Run(); err != nil && !errors.As(err, &exit) {
		return failed("run the tests", err)
	}
	return tests.ProcessState.ExitCode()
}

func failed(to string, err error) int {
	fmt.Fprintf(os.Stderr, "cannot %s: %v\n", to, err)
	return 1
}

// makeDir makes the folder of all that the tests of a package write: the programs, and
// below TMPDIR the rest. The guard removes it when the tests can't.
func makeDir() (dir string, err error) {
	if dir, err = os.MkdirTemp(temporaryFolder(), "drainit"); err != nil {
		return "", err
	}
	// Workers that run as another user start from it.
	temporary := filepath.Join(dir, "tmp")
	return dir, errors.Join(os.Chmod(dir, 0o755), os.Mkdir(temporary, 0o700), os.Chmod(temporary, 0o777|os.ModeSticky), os.Setenv("TMPDIR", temporary))
}

// temporaryFolder is TMPDIR, unless others may not search it, as with pam_tmpdir, or it is too long for the paths of
// sockets below it.
func temporaryFolder() string {
	for dir := os.TempDir(); len(dir) <= 40; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode()&1 == 0 {
			break
		}
		if dir == filepath.Dir(dir) {
			return os.TempDir()
		}
	}
	return "/tmp"
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
	guard := exec.Command(WorkerBin, "guard", markerOf(os.Getpid()), dir)
	guard.Stdin = r
	guard.Env = []string{}
	guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return w, guard.Start()
}

// buildStatic builds a program as it is released, but for its version. go run has what it
// has built before, for the tests of another package too, and starts cp with it.
func buildStatic(bin, pkg string) *exec.Cmd {
	build := exec.Command("go", "run", "-trimpath", "-ldflags=-s -w", "-exec", "cp", pkg, bin)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	return build
}

func buildDrainit() *exec.Cmd {
	if !Raced {
		return buildStatic(DrainitBin, "drainit")
	}
	// Else each drainit waits a second at its end for races that are no longer seen.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	return exec.Command("go", "run", "-race", "-trimpath", "-tags=netgo,osusergo",
		"-ldflags=-s -w -linkmode external -extldflags -static", "-exec", "cp", "drainit", DrainitBin)
}

// SoakWhole makes the long runs of the tests that have a short one.
var SoakWhole = flag.Bool("soak", false, "soak drainit with 1,000,000 orphans and 100,000 signals, not with 4,000 and 2,000")

// leftOut are why tests were not run, once for each.
var leftOut struct {
	sync.Mutex
	why []string
}

// leftToAll is why a test is not run that another tier has.
const leftToAll = "in the whole of the tests alone"

// note skips a test, and has it said at the end.
func note(t *testing.T, why string) {
	t.Helper()
	leftOut.Lock()
	leftOut.why = append(leftOut.why, why)
	leftOut.Unlock()
	t.Skip(why)
}

// sayLeftOut says at the end which tests were not run, and what to install for them. Of all packages that one go
// test runs, only the last by its name says it, for all.
func sayLeftOut() {
	wd, _ := os.Getwd()
	parent := os.Getppid()
	if goTest != "" {
		parent, _ = strconv.Atoi(goTest)
	}
	command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", parent))
	all := slices.Contains(strings.Split(string(command), "\x00"), "./...")
	if len(leftOut.why) == 0 || all && filepath.Base(wd) != "workers" {
		return
	}
	out := io.Writer(os.Stdout)
	// Without -v go test shows nothing that a package says which passes: it has a standard error.
	if Comm(parent) == "go" && !testing.Verbose() {
		if goTest, err := standardErrorOf(parent); err == nil {
			defer goTest.Close()
			out = goTest
		}
	}
	fmt.Fprint(out, leftOutText(leftOut.why, all))
}

// standardErrorOf is a process' own, so that neither writes over what the other has written to a file. Who may not have
// that opens it once more.
func standardErrorOf(pid int) (*os.File, error) {
	if process, err := unix.PidfdOpen(pid, 0); err == nil {
		defer unix.Close(process)
		if fd, err := unix.PidfdGetfd(process, 2, 0); err == nil {
			return os.NewFile(uintptr(fd), "standard error"), nil
		}
	}
	return os.OpenFile(fmt.Sprintf("/proc/%d/fd/2", pid), os.O_WRONLY|os.O_APPEND, 0)
}

// leftOutText counts the reasons, and ends with what can be pasted.
func leftOutText(why []string, all bool) string {
	count := make(map[string]int)
	for _, reason := range why {
		count[reason]++
	}
	var reasons []string
	for _, reason := range slices.Sorted(maps.Keys(count)) {
		reasons = append(reasons, fmt.Sprintf("%d %s", count[reason], reason))
	}
	text := "tests left out: " + strings.Join(reasons, ", ")
	if all {
		text = "tests left out: those that take longer, or that need more than Go, git and Debian's own programs"
	}
	text += "\nto run them, as root:\n"
	if missing := missingPackages(); len(missing) > 0 {
		text += "  apt-get install -y --no-install-recommends " + strings.Join(missing, " ") + "\n"
	}
	if !hasNodePackages() {
		text += "  npm ci --prefix test/node\n"
	}
	return text + "  DRAINIT_TEST_ALL=1 go test -timeout 20m ./...\n"
}

// missingPackages are those of programs.txt of which this machine lacks a program. One that
// has none is known by what dpkg has written of it.
func missingPackages() (missing []string) {
	list, err := os.ReadFile(Repo("test", "programs.txt"))
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(list)) {
		words := strings.Fields(line)
		lacks := func(program string) bool { _, err := exec.LookPath(program); return err != nil }
		_, err := os.Stat("/var/lib/dpkg/info/" + words[0] + ".list")
		if len(words) == 1 && err != nil || slices.ContainsFunc(words[1:], lacks) {
			missing = append(missing, words[0])
		}
	}
	return missing
}
