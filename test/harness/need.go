package harness

import (
	"errors"
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Need skips a test that lacks a program, or that needs one which this tier leaves alone. It
// fails it where all must run, as in CI.
func Need(t *testing.T, programs ...string) {
	for _, program := range programs {
		if !slices.Contains(has[chosen], program) {
			leaveTo(t, all)
		}
		if _, err := exec.LookPath(program); err != nil {
			Skip(t, "needs "+program)
		}
	}
}

// PathOf is where a program is that the test needs.
func PathOf(t *testing.T, program string) string {
	Need(t, program)
	path, err := exec.LookPath(program)
	Must(t, err)
	return path
}

// Repo is where a file of the repository is, from any folder.
func Repo(names ...string) string {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return filepath.Join(append([]string{dir}, names...)...)
		}
		if dir == "/" {
			err = errors.New("no go.mod above")
		}
	}
	panic(err)
}

func hasNodePackages() bool {
	_, err := os.Stat(Repo("test/node/node_modules/.package-lock.json"))
	return err == nil
}

// NeedNodePackages is Need for Node and the packages of test/node.
func NeedNodePackages(t *testing.T) {
	Need(t, "node")
	if !hasNodePackages() {
		Skip(t, "needs the packages of test/node")
	}
}

// Skip skips a test that lacks something, or fails it where all must run, as in CI.
func Skip(t *testing.T, why string) {
	if mustRunAll {
		t.Fatal(why)
	}
	note(t, why)
}

// PageBlock is the first block of code in a section of a page.
func PageBlock(t *testing.T, page, section, language string) string {
	t.Helper()
	block := Block(TextOf(t, page), section, language)
	if block == "" {
		t.Fatalf("no %s in the section %s of %s", language, section, page)
	}
	return block
}

// Block is the first block of code in a section of a text, "" if there is none.
func Block(text, section, language string) string {
	_, text, _ = strings.Cut(text, "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	_, text, _ = strings.Cut(text, "```"+language+"\n")
	text, _, _ = strings.Cut(text, "```")
	return text
}

// PlainUser is the user of a server that is not root, and may not signal root's processes.
const PlainUser = 65534

// NeedRoot skips a test that changes to another user, which a user namespace
// with one user in it can't.
func NeedRoot(t *testing.T) {
	if os.Getuid() != 0 {
		Skip(t, "needs root, to become another user")
	}
}

// OwnUID is a user that has no other process: RLIMIT_NPROC counts them all, those of another run of the
// tests, too.
func OwnUID() int { return 100_000 + rand.IntN(1_000_000_000) }

// tier is how many of the tests run. This is the one place where it is chosen.
type tier int

// The tiers. Each has what those before it have.
const (
	short tier = iota // -short: one start of each kind, with Go, git and sh
	usual             // what needs no other program and takes under two seconds
	all               // DRAINIT_TEST_ALL=1, as in CI: each test, a fifth of the rows of the longest tables
	every             // DRAINIT_TEST_ALL=every, before a release, and what -run asks for by name: each row
)

var chosen = every

// mustRunAll makes a skipped test a failed one, as in CI.
var mustRunAll bool

// has are the programs that a tier may need, the essential ones of Debian among them; the
// whole one may need any.
var has = map[tier][]string{
	short: {"go", "git", "sh", "dash"},
	usual: {"go", "git", "sh", "dash", "bash", "perl", "python3", "ldd", "env", "md5sum", "nohup",
		"sha256sum", "stty", "tee",
		"timeout", "chrt", "nsenter", "setpriv", "setsid", "su", "taskset", "unshare"},
}

func choose() {
	wanted := os.Getenv("DRAINIT_TEST_ALL")
	mustRunAll = wanted != ""
	os.Unsetenv("DRAINIT_TEST_ALL") // the workers' environment is compared
	switch run := flag.Lookup("test.run").Value.String(); {
	case testing.Short():
		chosen = short
	case wanted == "every", !mustRunAll && run != "":
		chosen = every
	case mustRunAll:
		chosen = all
	default:
		chosen = usual
	}
}

// Full leaves a test to the whole of the tests: it takes seconds, much of the machine, or
// repeats for many cases what another shows for one.
func Full(t *testing.T) { leaveTo(t, all) }

// Usual leaves out a test where only one start of each kind is asked for.
func Usual(t *testing.T) { leaveTo(t, usual) }

func leaveTo(t *testing.T, least tier) {
	if chosen < least {
		note(t, "in the whole of the tests alone")
	}
}

// Row reports whether a row of a long table is run, by its name: each before a release, one fifth in the
// whole of the tests, and another fifth in the usual ones.
func Row(name string) bool {
	sum := fnv.New32a()
	sum.Write([]byte(name))
	fifth := sum.Sum32() % 5
	return chosen == short || chosen == every || chosen == all && fifth == 0 || chosen == usual && fifth == 1
}

// Of is how many of something a test makes: many before a release, and otherwise the few that show the same.
func Of(many, few int) int {
	if chosen != every {
		return few
	}
	return many
}
