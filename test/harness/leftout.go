package harness

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// leftOut counts the tests that were not run, by why.
var leftOut = struct {
	sync.Mutex
	tests map[string]int
}{tests: make(map[string]int)}

func note(why string) {
	leftOut.Lock()
	defer leftOut.Unlock()
	leftOut.tests[why]++
}

// sayLeftOut says in one line which tests were not run, and what to do about it.
func sayLeftOut() {
	if len(leftOut.tests) == 0 {
		return
	}
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(leftOut.tests)) {
		parts = append(parts, fmt.Sprintf("%d × %s", leftOut.tests[why], why))
	}
	out := io.Writer(os.Stdout)
	// Without -v go test shows nothing that a package says which passes.
	if goTest, err := stderrOfGo(); err == nil && !testing.Verbose() {
		defer goTest.Close()
		out = goTest
	}
	dir, _ := os.Getwd()
	_, name, _ := strings.Cut(dir, Repo()+"/")
	fmt.Fprintf(out, "%s: tests left out: %s\n", name, strings.Join(parts, "; "))
}

// stderrOfGo is the standard error of the go command that runs the tests.
func stderrOfGo() (*os.File, error) {
	if parent := Comm(os.Getppid()); parent != "go" {
		return nil, fmt.Errorf("%s is not go", parent)
	}
	pidfd, err := unix.PidfdOpen(os.Getppid(), 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(pidfd)
	fd, err := unix.PidfdGetfd(pidfd, 2, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "stderr"), nil
}
