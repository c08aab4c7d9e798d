package workers

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"drainit/test/harness"
)

// input is what an init has as its standard input.
type input struct {
	name string
	set  func(*testing.T, harness.Launch) harness.Launch
}

// title is what the name of a test ends with.
func (in input) title() string {
	if in.name == "" {
		return ""
	}
	return ", standard input is " + in.name
}

// dockers is what a container has in Docker and Kubernetes: /dev/null, open to read and write.
var dockers input

// inputs are the others that matter to a shell: without job control it gives what it starts
// in the background /dev/null, open to read, and the rest its own.
var inputs = []input{
	{name: "/dev/null, read only", set: nullReadOnly},
	{name: "a pipe", set: openPipe},
	// There the worker has a process group and no session. Each row ends as it does elsewhere.
	{name: "a terminal", set: harness.OnTerminal},
}

func nullReadOnly(t *testing.T, l harness.Launch) harness.Launch {
	t.Helper()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	l.Stdin = null
	return l
}

// openPipe is a pipe to which nothing is written, and which stays open.
func openPipe(t *testing.T, l harness.Launch) harness.Launch {
	t.Helper()
	l.Stdin, _ = harness.Pipe(t)
	return l
}

// shells are the programs that are shells or run their command by one, and the words by
// which a way's name says that there is a script.
var shells = regexp.MustCompile(`\b(sh|bash|dash|[ml]ksh|npm|npx|yarn|pnpm|concurrently|rake|nx|lerna|runsvdir|mysqld_safe|rabbitmq-server|su|script|entrypoint|trap|shell=True)\b|^.while :`)

// otherInputs are those with which the way runs beside Docker's: all where a shell takes
// part.
func (w way) otherInputs() []input {
	if shells.MatchString(w.name) || slices.ContainsFunc(w.programs, shells.MatchString) {
		return inputs
	}
	return nil
}
