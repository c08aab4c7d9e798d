package harness

import (
	"flag"
	"os"
	"testing"
)

// tier is how many of the tests run. This is the one place where it is chosen.
type tier int

// The tiers. Each has what those before it have.
const (
	short tier = iota // -short: one start of each kind, with Go, git and sh
	usual             // what needs no other program and takes under two seconds
	all               // DRAINIT_TEST_ALL, and what -run asks for by its name
)

// chosen is this run's tier.
var chosen = all

// mustRunAll makes a skipped test a failed one, as in CI.
var mustRunAll bool

// has are the programs that a tier may need, the essential ones of Debian among them; the
// whole one may need any.
var has = map[tier][]string{
	short: {"go", "git", "sh", "dash"},
	usual: {"go", "git", "sh", "dash", "bash", "perl", "python3", "ldd", "env", "md5sum", "nohup", "sha256sum", "stty", "tee",
		"timeout", "chrt", "nsenter", "setpriv", "setsid", "su", "taskset", "unshare"},
}

func choose() {
	mustRunAll = os.Getenv("DRAINIT_TEST_ALL") == "1"
	os.Unsetenv("DRAINIT_TEST_ALL") // the workers' environment is compared
	switch run := flag.Lookup("test.run").Value.String(); {
	case testing.Short():
		chosen = short
	case !mustRunAll && run == "":
		chosen = usual
	}
}

// Full leaves a test to the whole of the tests: it takes seconds, much of the machine, or
// repeats for many cases what another shows for one.
func Full(t *testing.T) {
	t.Helper()
	if chosen < all {
		note(t, leftToAll)
	}
}

// Usual leaves out a test where only one start of each kind is asked for.
func Usual(t *testing.T) {
	t.Helper()
	if chosen < usual {
		note(t, leftToAll)
	}
}

// Of is how many of something a test makes: many in the whole of the tests, and otherwise the
// few that show the same.
func Of(many, few int) int {
	if chosen != all {
		return few
	}
	return many
}
