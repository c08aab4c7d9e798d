package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Java compiles a program in Java, once, and returns its start.
func Java(t *testing.T, source string) []string {
	t.Helper()
	Need(t, "java", "javac")
	main := strings.TrimSuffix(filepath.Base(source), ".java")
	dir := filepath.Join(filepath.Dir(DrainitBin), "java", main)
	compiling.Lock()
	defer compiling.Unlock()
	if _, err := os.Stat(dir); err != nil {
		if out, err := exec.Command("javac", "-nowarn", "-d", dir, source).CombinedOutput(); err != nil {
			t.Fatalf("cannot compile %s: %v\n%s", source, err, out)
		}
	}
	return []string{"java", "-Xshare:auto", "-cp", dir, main}
}

// compiling is held while a program is compiled.
var compiling sync.Mutex
