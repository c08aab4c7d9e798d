// Package harness runs the built drainit, as PID 1 of a PID namespace and not as PID 1,
// with real programs under it, for tests that look at what really happened: which process
// got which signal, who is alive, the exit status, and what a user sees.
//
// Run starts an init with every setting that a test can give it, StartTree one with a tree
// of processes, package console one on a terminal, and package engines one in a container.
// Whatever they start ends with the test. Need skips a test whose program is not installed.
package harness

import (
	"cmp"
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

// Main runs the tests of a package, with the programs under test built and what they
// leave cleaned up. It is what a package's TestMain calls, and does not return.
func Main(m *testing.M) {
	syscall.Umask(0o022) // others run what is built
	// What a script ignores for those that it runs in the background, and nohup, is default for the
	// programs under test.
	for _, sig := range []os.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGHUP} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig) // exec makes default what is handled
		}
	}
	// They speak as on a machine without a locale: perl warns of each that is not installed.
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "LC_") || name == "LANG" ||
			name == "LANGUAGE" {
			os.Unsetenv(name)
		}
	}
	leftOut.why = make(map[string]int)
	goTest, _ = strconv.Atoi(cmp.Or(os.Getenv(goTestIs), strconv.Itoa(os.Getppid())))
	os.Unsetenv(goTestIs)
	flag.Parse()
	choose()
	// one for each processor, and most tests wait
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		flag.Set("test.parallel", "8")
	}
	status, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot run the tests:", err)
		status = 1
	}
	sayLeftOut()
	os.Exit(status)
}

// BinariesIn is the environment variable for tests that run within another one: the
// folder with the programs that this has built.
const BinariesIn = "DRAINTEST_BINARIES"

// goTestIs is the environment variable with the pid of go test, for tests whose parent is another.
const goTestIs = "DRAINTEST_GO"

var goTest int // what it has, or the parent

func runTests(m *testing.M) (status int, err error) {
	if dir := os.Getenv(BinariesIn); dir != "" {
		os.Unsetenv(BinariesIn) // the workers' environment is compared
		DrainitBin, WorkerBin = filepath.Join(dir, "drainit"), filepath.Join(dir, "worker")
		return m.Run(), nil
	}
	dir, err := makeDir()
	defer os.RemoveAll(dir)
	if err != nil {
		return 1, err
	}
	DrainitBin, WorkerBin = filepath.Join(dir, "drainit"), filepath.Join(dir, "worker")
	for _, build := range []*exec.Cmd{buildDrainit(), buildStatic(WorkerBin, "drainit/test/cmd/worker")} {
		if out, err := build.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("%s: %w\n%s", build, err, out)
		}
	}
	guarded, err := startGuard(dir)
	if err != nil {
		return 1, err
	}
	defer guarded.Close()  // not earlier: without a reference its end would come at any time
	if os.Getppid() == 1 { // as in docker run golang go test ./...
		return runReaped(dir)
	}
	status = m.Run()
	for _, end := range atEnd.all {
		err = errors.Join(err, end())
	}
	return status, err
}

var atEnd struct {
	sync.Mutex
	all []func() error
}

// AtEnd ends what several tests share, when all have run.
func AtEnd(end func() error) {
	atEnd.Lock()
	defer atEnd.Unlock()
	atEnd.all = append(atEnd.all, end)
}

// runReaped runs the same tests below a process that reaps what they leave.
func runReaped(dir string) (status int, err error) {
	tests := exec.Command(WorkerBin, append([]string{"reap"}, os.Args...)...)
	tests.Stdin, tests.Stdout, tests.Stderr = os.Stdin, os.Stdout, os.Stderr
	tests.Env = append(os.Environ(), BinariesIn+"="+dir, fmt.Sprintf("%s=%d", goTestIs, os.Getppid()))
	tests.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if err = tests.Run(); tests.ProcessState != nil {
		err = nil // but a status
	}
	return tests.ProcessState.ExitCode(), err
}

// makeDir makes the folder of all that the tests of a package write: the programs, and
// below TMPDIR the rest. The guard removes it when the tests can't.
func makeDir() (dir string, err error) {
	if dir, err = os.MkdirTemp(temporaryFolder(), "drainit"); err != nil {
		return "", err
	}
	// Workers that run as another user start from it.
	temporary := filepath.Join(dir, "tmp")
	return dir, errors.Join(os.Chmod(dir, 0o755), os.Mkdir(temporary, 0o700),
		os.Chmod(temporary, 0o777|os.ModeSticky), os.Setenv("TMPDIR", temporary))
}

// temporaryFolder is TMPDIR, unless others may not search it, as with pam_tmpdir, or it is too long for
// the paths of sockets below it.
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
	guard.Stdin, guard.Env, guard.SysProcAttr = r, []string{}, &syscall.SysProcAttr{Setsid: true}
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
var SoakWhole = flag.Bool("soak", false,
	"soak drainit with 1,000,000 orphans and 100,000 signals, not with 4,000 and 2,000")

// leftOut is how many tests were not run, by why.
var leftOut struct {
	sync.Mutex
	why map[string]int
}

// note skips a test, and has it said at the end.
func note(t *testing.T, why string) {
	leftOut.Lock()
	leftOut.why[why]++
	leftOut.Unlock()
	t.Skip(why)
}

// sayLeftOut says at the end which tests were not run, and what can be pasted to run them. Of all
// packages that one go test runs, only the last by its name says it, for all.
func sayLeftOut() {
	wd, _ := os.Getwd()
	command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", goTest))
	all := slices.Contains(strings.Split(string(command), "\x00"), "./...")
	if len(leftOut.why) == 0 || all && filepath.Base(wd) != "workers" {
		return
	}
	out := os.Stdout
	// Without -v go test shows nothing that a package says which passes: it has a standard error.
	if Comm(goTest) == "go" && !testing.Verbose() {
		if err, failed := standardErrorOf(goTest); failed == nil {
			defer err.Close()
			out = err
		}
	}
	reasons := []string{"those that take longer, or that need more than Go, git and Debian's own programs"}
	if !all {
		reasons = nil
		for _, why := range slices.Sorted(maps.Keys(leftOut.why)) {
			reasons = append(reasons, fmt.Sprint(leftOut.why[why], " ", why))
		}
	}
	fmt.Fprintf(out, "tests left out: %s\nto run them, as root:\n", strings.Join(reasons, ", "))
	if missing := missingPackages(); len(missing) > 0 {
		fmt.Fprintln(out, "  apt-get install -y --no-install-recommends", strings.Join(missing, " "))
	}
	if !hasNodePackages() {
		fmt.Fprintln(out, "  npm ci --prefix test/node")
	}
	fmt.Fprintln(out, "  DRAINIT_TEST_ALL=1 go test -timeout 20m ./...")
}

// standardErrorOf is a process' own, so that neither writes over what the other has written to a file.
// Who may not have that opens it once more.
func standardErrorOf(pid int) (*os.File, error) {
	if process, err := unix.PidfdOpen(pid, 0); err == nil {
		defer unix.Close(process)
		if fd, err := unix.PidfdGetfd(process, 2, 0); err == nil {
			return os.NewFile(uintptr(fd), "standard error"), nil
		}
	}
	return os.OpenFile(fmt.Sprintf("/proc/%d/fd/2", pid), os.O_WRONLY|os.O_APPEND, 0)
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
