package harness

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
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
	why, last := gather(leftOut.why)
	if !last || len(why) == 0 {
		return
	}
	out := io.Writer(os.Stdout)
	// Without -v go test shows nothing that a package says which passes: it has a standard error.
	if parent := os.Getppid(); Comm(parent) == "go" && !testing.Verbose() {
		if goTest, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/2", parent), os.O_WRONLY|os.O_APPEND, 0); err == nil {
			defer goTest.Close()
			out = goTest
		}
	}
	fmt.Fprint(out, leftOutText(why))
}

// leftOutText counts the reasons, and ends with what can be pasted.
func leftOutText(why []string) string {
	count := make(map[string]int)
	for _, reason := range why {
		count[reason]++
	}
	var reasons []string
	for _, reason := range slices.Sorted(maps.Keys(count)) {
		reasons = append(reasons, fmt.Sprintf("%d %s", count[reason], reason))
	}
	text := "tests left out: " + strings.Join(reasons, ", ") + "\nto run them, as root:\n"
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

// gather writes down why tests of this package were left out, where a go test of all packages
// builds them: that folder it has to itself, and removes. It returns it for all packages, and
// whether this is the last one. Packages that go knows to pass do not run, and then none is the last.
func gather(own []string) (all []string, last bool) {
	patterns, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", os.Getppid()))
	shared := filepath.Dir(filepath.Dir(os.Args[0]))
	if !slices.Contains(strings.Split(string(patterns), "\x00"), "./...") || !strings.HasPrefix(filepath.Base(shared), "go-build") {
		return own, true
	}
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
		all = append(all, LinesOf(string(b))...)
	}
	// Two may end at once.
	return all, os.Mkdir(name("said"), 0o700) == nil
}
