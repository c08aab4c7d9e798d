package harness

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

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

// sayLeftOut says at the end which tests were not run, and what to install for them: once
// for all packages that one go test runs, by the last of them.
func sayLeftOut() {
	why := leftOut.why
	if shared := sharedByGoTest(); shared != "" {
		var last bool
		if why, last = gather(shared, why); !last {
			return
		}
	}
	if len(why) == 0 {
		return
	}
	out := io.Writer(os.Stdout)
	// Without -v go test shows nothing that a package says which passes.
	if goTest, err := stderrOfGo(); err == nil && !testing.Verbose() {
		defer goTest.Close()
		out = goTest
	}
	fmt.Fprint(out, leftOutText(why))
}

// leftOutText counts the reasons, and ends with what can be pasted.
func leftOutText(why []string) string {
	slices.Sort(why)
	var reasons []string
	for _, reason := range slices.Compact(slices.Clone(why)) {
		n := 0
		for _, w := range why {
			if w == reason {
				n++
			}
		}
		reasons = append(reasons, fmt.Sprintf("%d %s", n, reason))
	}
	text := "tests left out: " + strings.Join(reasons, ", ") + "\n"
	if !slices.ContainsFunc(why, func(w string) bool { return w == leftToAll || strings.HasPrefix(w, "needs ") }) {
		return text
	}
	text += "to run them, as root:\n"
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
	list, err := os.Open(Repo("test", "programs.txt"))
	if err != nil {
		panic(err)
	}
	defer list.Close()
	for lines := bufio.NewScanner(list); lines.Scan(); {
		line := strings.Fields(lines.Text())
		lacks := func(program string) bool { _, err := exec.LookPath(program); return err != nil }
		if len(line) == 1 {
			lacks = func(string) bool {
				_, err := os.Stat("/var/lib/dpkg/info/" + line[0] + ".list")
				return err != nil
			}
		}
		if slices.ContainsFunc(line[min(1, len(line)-1):], lacks) {
			missing = append(missing, line[0])
		}
	}
	return missing
}

// sharedByGoTest is a folder that a go test of all packages has to itself, and removes;
// empty where it runs one or some. It is the one in which it builds them.
func sharedByGoTest() string {
	patterns, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", os.Getppid()))
	dir := filepath.Dir(filepath.Dir(os.Args[0]))
	if !slices.Contains(strings.Split(string(patterns), "\x00"), "./...") || !strings.HasPrefix(filepath.Base(dir), "go-build") {
		return ""
	}
	return dir
}

// gather writes down why tests of this package were left out, and returns it for all
// packages if this is the last one. Packages that go knows to pass do not run, and then
// none is the last.
func gather(shared string, own []string) (all []string, last bool) {
	packages, _ := filepath.Glob(Repo("test", "*", "main_test.go"))
	wd, _ := os.Getwd()
	name := func(dir string) string { return filepath.Join(shared, "left-out-"+filepath.Base(dir)) }
	// Under another name first: what is there is whole.
	if os.WriteFile(name(wd)+".new", []byte(strings.Join(own, "\n")), 0o600) != nil || os.Rename(name(wd)+".new", name(wd)) != nil {
		return own, true
	}
	for _, p := range packages {
		b, err := os.ReadFile(name(filepath.Dir(p)))
		if err != nil {
			return nil, false
		}
		if len(b) > 0 {
			all = append(all, strings.Split(string(b), "\n")...)
		}
	}
	// Two may end at once.
	return all, os.Mkdir(name("said"), 0o700) == nil
}

// stderrOfGo is the standard error of the go command that runs the tests.
func stderrOfGo() (*os.File, error) {
	parent := os.Getppid()
	if name := Comm(parent); name != "go" {
		return nil, fmt.Errorf("%s is not go", name)
	}
	if pidfd, err := unix.PidfdOpen(parent, 0); err == nil {
		defer unix.Close(pidfd)
		if fd, err := unix.PidfdGetfd(pidfd, 2, 0); err == nil {
			return os.NewFile(uintptr(fd), "stderr"), nil
		}
	}
	// Docker's seccomp profile denies these.
	return os.OpenFile(fmt.Sprintf("/proc/%d/fd/2", parent), os.O_WRONLY|os.O_APPEND, 0)
}
