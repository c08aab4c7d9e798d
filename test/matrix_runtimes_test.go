package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// runtimeWays are the starts of programs in Java and PHP.
var runtimeWays = []way{javaWay, throughShell(javaWay), phpWay, throughShell(phpWay)}

// javaWay waits for its job in a shutdown hook. The Java runtime runs its hooks
// once, however often it is signalled, and then exits with 143.
var javaWay = way{
	name:     "`java Worker`",
	programs: []string{"java", "javac"},
	status:   143,
	prepare: func(t *testing.T, _ *scene) []string {
		classes, err := javaClasses()
		if err != nil {
			t.Fatal(err)
		}
		return []string{"java", "-Xshare:auto", "-cp", classes, "Worker"}
	},
}

// phpWay has a handler by pcntl.
var phpWay = way{
	name:     "`php worker.php`",
	programs: []string{"php"},
	prepare: func(t *testing.T, _ *scene) []string {
		return []string{"php", testdata(t, "worker.php")}
	},
}

// javaClasses compiles the programs in Java, once, and returns the folder of their
// classes.
var javaClasses = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(filepath.Dir(drainitBin), "java")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if out, err := exec.Command("javac", "-nowarn", "-d", dir, "testdata/matrix/Worker.java", "testdata/untouched/Drains.java").CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot compile: %w\n%s", err, out)
	}
	return dir, nil
})
